// Package delivery is outbound HTTP: a client that can be pointed at an address which somebody else has chosen.
//
// It reaches no host of the network that it runs in unless it is told that it may, follows no redirect, and bounds all that
// it waits for and reads. It must know neither where events come from nor where they are stored.
package delivery

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Options configure a Client.
type Options struct {
	// AllowPrivate lets the client reach loopback, private and other addresses that are not of the public internet.
	AllowPrivate bool
}

// The bounds of one exchange. The caller's context bounds the whole.
const (
	connectTimeout   = 5 * time.Second
	maxHeaderBytes   = 16 << 10
	maxAnswerBytes   = 256 << 10
	idleConnsPerHost = 8
	idleTimeout      = time.Minute
)

// Client posts to addresses that are not ours.
type Client struct {
	http *http.Client
}

// NewClient makes a client.
func NewClient(o Options) *Client {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if !o.AllowPrivate {
		dialer.Control = refusePrivate
	}
	return &Client{http: &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy of the environment would connect where the guard cannot look
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConnsPerHost:    idleConnsPerHost,
			IdleConnTimeout:        idleTimeout,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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
		return Answer{}, &Error{Reason: "the address is malformed"}
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
		return Answer{}, &Error{Reason: fmt.Sprintf("the answer is longer than %d bytes", maxAnswerBytes)}
	}
	return answer, nil
}
