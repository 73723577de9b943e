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
	// AllowPrivate lets the client reach loopback, private and other addresses that are not of the public internet.
	AllowPrivate bool
}

// maxAnswerBytes bounds the answer to a question.
const maxAnswerBytes = 256 << 10

// Client posts questions to addresses that are not ours, and reads the answers.
type Client struct {
	http *http.Client
}

// NewClient makes a client.
func NewClient(o Options) *Client {
	return &Client{newHTTP(newDialer(guard{everything: o.AllowPrivate}), nil)}
}

// Answer is what came back.
type Answer struct {
	Status      int
	ContentType string
	// Body is the whole body: an answer that is longer than 256 KiB is an error.
	Body []byte
}

// Post sends a body and reads the answer, whatever its status. The errors of the standard library name the address, which may
// hold a secret, so they are not passed on as text.
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
	defer func() { _ = response.Body.Close() }() // all of it has been read, or none of it matters
	answer := Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type")}
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return Answer{}, failure(err)
	}
	if len(answer.Body) > maxAnswerBytes {
		return Answer{}, &Error{Code: codeAnswer, Reason: fmt.Sprintf("the answer is longer than %d bytes", maxAnswerBytes)}
	}
	return answer, nil
}
