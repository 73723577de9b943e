package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Read gives the plain lines of all files, one file after the other, in the order of their names. The address of a bucket may
// also name a part of an archive: events, a year, a day.
func Read(ctx context.Context, b Bucket) (io.ReadCloser, error) {
	names, err := b.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(copyAll(ctx, b, names, out)) }()
	return in, nil
}

// Read gives the lines of the archive: see Read. The error says that it is another archive than files were written to.
func (k *Keeper) Read(ctx context.Context) (io.ReadCloser, error) {
	if _, err := k.isNew(ctx); err != nil {
		return nil, err
	}
	return Read(ctx, k.Bucket)
}

func copyAll(ctx context.Context, b Bucket, names []string, out io.Writer) error {
	for _, name := range names {
		if !strings.Contains(name, ".ndjson") {
			continue
		}
		if err := copyPlain(ctx, b, name, out); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return nil
}

func copyPlain(ctx context.Context, b Bucket, name string, out io.Writer) error {
	file, err := b.Get(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := Decompress(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, plain)
	return errors.Join(err, plain.Close())
}
