package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// awaitPause is the pause between two checks, and awaitLimit bounds one check.
	awaitPause = 2 * time.Second
	awaitLimit = 10 * time.Second
)

// Await waits until the database at url is reachable and has this program's schema. It changes nothing. It calls tell with the
// reason for waiting each time the reason changes. It fails only if the context ends.
func Await(ctx context.Context, url string, tell func(reason string)) error {
	var told string
	for {
		reason, err := missing(ctx, url)
		if reason == "" || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if reason != told {
			tell(reason)
			told = reason
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

// missing returns what is missing, or "". It returns an error if waiting is useless.
func missing(ctx context.Context, url string) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	have, want, err := Current(ctx, url)
	switch {
	case errors.Is(err, ErrEarlierBuild):
		return "", err
	case err != nil:
		return err.Error(), nil
	case have < want:
		return fmt.Sprintf("the database is at migration %d and this program needs %d", have, want), nil
	default:
		return "", nil
	}
}
