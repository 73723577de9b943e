package broker

import (
	"io"
	"net/http"
	"time"
)

// Limits of the idle connections to a service over HTTP.
const (
	maxIdle     = 64
	idleTimeout = time.Minute
)

// HTTPTransport returns a transport for a service over HTTP.
func (c Connection) HTTPTransport() *http.Transport {
	return &http.Transport{
		DialContext: c.dial, TLSClientConfig: c.TLS, TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout: idleTimeout, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// limited bounds the bodies of responses, which clients read as a whole.
type limited struct {
	*http.Transport

	max int64
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, l.max), response.Body}
	return response, nil
}
