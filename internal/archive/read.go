package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Read returns the decompressed lines of all files, ordered by file name. The address of the bucket may also select a part of an
// archive: events, a year, a day.
func Read(ctx context.Context, b Bucket) (io.ReadCloser, error) {
	names, err := b.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the archive: %w", err)
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(copyAll(ctx, b, names, out)) }()
	return in, nil
}

// Read returns the lines of the archive: see the function Read. The error may mean that files were written to another archive.
func (a *Archiver) Read(ctx context.Context) (io.ReadCloser, error) {
	if _, err := a.isNew(ctx); err != nil {
		return nil, err
	}
	return Read(ctx, a.Bucket)
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
