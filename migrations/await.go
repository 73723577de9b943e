package migrations

import (
	"context"
	"fmt"
	"time"
)

const (
	// awaitPause is the pause between two checks, and awaitLimit bounds one check.
	awaitPause = 2 * time.Second
	awaitLimit = 10 * time.Second
)

// Await waits until the database at url is reachable and has this program's schema. It changes nothing. It calls tell with the
// reason for waiting each time the reason changes. The error is that of the context.
func Await(ctx context.Context, url string, tell func(reason string)) error {
	var told string
	for {
		reason := missing(ctx, url)
		if reason == "" {
			return nil
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

// missing returns what is missing, or "".
func missing(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	have, want, err := Current(ctx, url)
	switch {
	case err != nil:
		return err.Error()
	case have < want:
		return fmt.Sprintf("the database is at migration %d and this program needs %d", have, want)
	default:
		return ""
	}
}
