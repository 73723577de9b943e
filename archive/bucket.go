package archive

import (
	"context"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Bucket is where files are.
type Bucket interface {
	// Put writes a file as a whole, or replaces it. After it the file is durable.
	Put(ctx context.Context, name string, content []byte) error
	// Get reads a file. The error is fs.ErrNotExist where there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List gives the names of all files, sorted.
	List(ctx context.Context) ([]string, error)
	// Mark makes a new archive one. Of one that is not new, an error says that it is not there, or is another one.
	Mark(ctx context.Context, isNew bool) error
	// Remove removes a file. One that is not there is no error.
	Remove(ctx context.Context, name string) error
}

// IsAddress says whether a text is the address of an archive, rather than the name of a file.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "s3://")
}

// Open opens the archive at an address: file:///folder, or s3://bucket/prefix with the optional parameters endpoint and region.
// It connects to nothing.
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
		return nil, errors.New("is no address")
	case u.User != nil || u.Fragment != "":
		return nil, errors.New("holds more than an address: credentials stand in the environment")
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path) && u.RawQuery == "":
		return u, nil
	case u.Scheme == "s3" && u.Host != "":
		return u, checkS3(u)
	}
	return nil, errors.New("is neither file:///folder nor s3://bucket/prefix")
}
