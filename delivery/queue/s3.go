package queue

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"holdfast/delivery"
	"holdfast/internal/broker"
)

// s3Client writes each message as an object. The service answers once the object is stored.
type s3Client struct {
	client    *minio.Client
	transport *http.Transport
	bucket    string
}

func connectS3(_ context.Context, c broker.Connection, to delivery.S3) (client, error) {
	transport := c.HTTPTransport()
	made, err := minio.New(c.Hosts[0], &minio.Options{
		Creds: credentials.NewStaticV4(c.User, c.Secret, ""), Secure: c.Secure, Region: to.Region, Transport: transport,
		MaxRetries: 1, // the delivery's retries follow
	})
	if err != nil {
		return nil, blocked("address", "s3.url can't be used")
	}
	return &s3Client{client: made, transport: transport, bucket: to.Bucket}, nil
}

func (c *s3Client) publish(ctx context.Context, m message) (string, error) {
	fields := map[string]string{}
	for _, one := range m.attributes {
		fields["ce-"+one.Name] = delivery.EscapedAttribute(one.Value)
	}
	for _, one := range m.headers {
		fields[one.name] = one.value
	}
	_, err := c.client.PutObject(ctx, c.bucket, m.key, bytes.NewReader(m.body), int64(len(m.body)), minio.PutObjectOptions{
		ContentType: m.contentType, UserMetadata: fields, SendContentMd5: true, DisableMultipart: true,
	})
	return codeStored, s3Failure(ctx, err)
}

func s3Failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	refused, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case ok && refused.Code == "NoSuchBucket":
		return blocked(codeNoQueue, "s3.bucket doesn't exist")
	case ok && refused.StatusCode == http.StatusForbidden, ok && refused.StatusCode == http.StatusUnauthorized:
		return blocked(codeCredentials,
			"the service refuses the credentials, or they don't allow this: check s3.user, s3.region and the secret")
	case ok && (refused.Code == "SlowDown" || refused.StatusCode == http.StatusTooManyRequests):
		return busy(codeBlocked, "the service asks for a lower rate")
	case ok && (refused.Code == "EntityTooLarge" || refused.StatusCode == http.StatusRequestEntityTooLarge):
		return final(codeTooLarge, "the object is larger than the service takes")
	case ok && refused.Code == "KeyTooLongError":
		return final(codeName, "the object's name is too long")
	case ok && refused.StatusCode > 0:
		return bad(codeRefused, "the service answered "+http.StatusText(refused.StatusCode))
	case ctx.Err() != nil:
		return unconfirmed(ctx)
	}
	return err
}

func (c *s3Client) check(ctx context.Context) ([]delivery.Finding, error) {
	exists, err := c.client.BucketExists(ctx, c.bucket)
	if err != nil {
		return nil, s3Failure(ctx, err)
	}
	if !exists {
		return []delivery.Finding{{About: "bucket", Text: "it doesn't exist: create " + c.bucket}}, nil
	}
	return []delivery.Finding{{About: "bucket", OK: true, Text: c.bucket + " exists"}}, nil
}

func (c *s3Client) isUsable() bool { return true }

func (c *s3Client) close() { c.transport.CloseIdleConnections() }

// objectName is the default name of an object: one folder for each provider and day.
func objectName(j delivery.Job, m delivery.Message) string {
	day := m.Receipt.ReceivedAt.UTC().Format(time.DateOnly)
	return strings.Join([]string{m.Receipt.Provider, day, j.ID()}, "/")
}

// maxObject bounds the name of an object, in bytes.
const maxObject = 1024
