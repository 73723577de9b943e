package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	defaultEndpoint = "https://s3.amazonaws.com"
	// putTimeout bounds writing one file.
	putTimeout = 2 * time.Minute
)

// s3 is an archive in an S3-compatible bucket.
type s3 struct {
	client         *minio.Client
	bucket, prefix string
}

func checkS3(u *url.URL) error {
	for name, values := range u.Query() {
		if name != "endpoint" && name != "region" || len(values) != 1 {
			return fmt.Errorf("has the unknown or repeated parameter %q: use endpoint and region, once each", name)
		}
	}
	_, err := endpointOf(u)
	return err
}

func endpointOf(u *url.URL) (*url.URL, error) {
	address := u.Query().Get("endpoint")
	if address == "" {
		address = defaultEndpoint
	}
	endpoint, err := url.Parse(address)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" ||
		strings.Trim(endpoint.Path, "/") != "" || endpoint.User != nil {
		return nil, errors.New("has an invalid endpoint: use https://host")
	}
	return endpoint, nil
}

// openS3 uses the standard credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared AWS file, or the role of the
// machine, task or pod.
func openS3(u *url.URL) (*s3, error) {
	endpoint, err := endpointOf(u)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Secure: endpoint.Scheme == "https", MaxRetries: 3, Region: u.Query().Get("region"),
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
	})
	if err != nil {
		return nil, err
	}
	return &s3{client: client, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}, nil
}

func (s *s3) path(name string) string { return path.Join(s.prefix, name) }

// Put sends a checksum that the server verifies, and checks the size of the result.
func (s *s3) Put(ctx context.Context, name string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	size := int64(len(content))
	_, err := s.client.PutObject(ctx, s.bucket, s.path(name), bytes.NewReader(content), size, minio.PutObjectOptions{
		ContentType: "application/zstd", SendContentMd5: true, DisableMultipart: true,
	})
	if err != nil {
		return err
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.path(name), minio.StatObjectOptions{})
	if err == nil && info.Size != size {
		err = fmt.Errorf("the bucket has %d of %d bytes of %s", info.Size, size, name)
	}
	return err
}

func (s *s3) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := s.client.GetObject(ctx, s.bucket, s.path(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := object.Stat(); err != nil {
		_ = object.Close()
		if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return nil, err
	}
	return object, nil
}

func (s *s3) List(ctx context.Context) (names []string, err error) {
	below := s.prefix
	if below != "" {
		below += "/"
	}
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: below, Recursive: true}) {
		if object.Err != nil {
			return nil, object.Err
		}
		names = append(names, strings.TrimPrefix(object.Key, below))
	}
	slices.Sort(names)
	return names, nil
}

// Mark does nothing: writing to a missing bucket fails anyway.
func (s *s3) Mark(context.Context, bool) error { return nil }

func (s *s3) Remove(ctx context.Context, name string) error {
	return s.client.RemoveObject(ctx, s.bucket, s.path(name), minio.RemoveObjectOptions{})
}
