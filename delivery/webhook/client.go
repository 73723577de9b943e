package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Options configure a Client.
type Options struct {
	// AllowPrivate allows loopback, private and other non-public addresses.
	AllowPrivate bool
}

const maxAnswerBytes = 256 << 10

// Client sends requests to external addresses and reads the responses.
type Client struct {
	http *http.Client
}

// NewClient returns a client.
func NewClient(o Options) *Client {
	return &Client{newHTTP(newDialer(guard{everything: o.AllowPrivate}), nil)}
}

// Answer is a response.
type Answer struct {
	Status      int
	ContentType string
	// Body is complete: a longer response than 256 KiB is an error.
	Body []byte
}

// Post sends a body and returns the response, whatever its status. Errors don't contain the address, which may hold a secret.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, &Error{Code: codeAddress, Reason: "the address is malformed"}
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, failure(err)
	}
	defer func() { _ = response.Body.Close() }() // nothing more to read
	answer := Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type")}
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return Answer{}, failure(err)
	}
	if len(answer.Body) > maxAnswerBytes {
		return Answer{}, &Error{Code: codeAnswer, Reason: fmt.Sprintf("the response is longer than %d bytes", maxAnswerBytes)}
	}
	return answer, nil
}
