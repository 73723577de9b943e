package archive

import (
	"context"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Bucket stores the files of an archive.
type Bucket interface {
	// Put creates or replaces a file atomically and durably.
	Put(ctx context.Context, name string, content []byte) error
	// Get opens a file. The error is fs.ErrNotExist if it doesn't exist.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns all file names, sorted.
	List(ctx context.Context) ([]string, error)
	// Mark marks a new archive. If isNew is false, it returns an error unless the mark exists.
	Mark(ctx context.Context, isNew bool) error
	// Remove deletes a file. A missing file isn't an error.
	Remove(ctx context.Context, name string) error
}

// IsAddress reports whether the text is the address of an archive instead of a file name.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "s3://")
}

// Open returns the archive at an address: file:///folder, or s3://bucket/prefix with the optional parameters endpoint and region.
// It doesn't connect.
func Open(address string) (Bucket, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		return folder{u.Path}, nil
	}
	return openS3(u)
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("isn't a valid URL")
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("must not contain credentials or a fragment: set credentials in the environment")
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path) && u.RawQuery == "":
		return u, nil
	case u.Scheme == "s3" && u.Host != "":
		return u, checkS3(u)
	}
	return nil, errors.New("is neither file:///folder nor s3://bucket/prefix")
}
