package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Limits of a request, in addition to the caller's context.
const (
	connectTimeout   = 5 * time.Second
	maxHeaderBytes   = 16 << 10
	idleConns        = 1024
	idleConnsPerHost = 64
	idleTimeout      = time.Minute
	pingAfter        = 15 * time.Second
)

// newDialer only connects to addresses that the guard allows.
func newDialer(g guard) *net.Dialer { return &net.Dialer{Timeout: connectTimeout, Control: g.control} }

// newHTTP returns a client that follows no redirects and decompresses nothing. A nil config uses the system's certificates.
func newHTTP(dialer *net.Dialer, config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // the guard can't check what a proxy connects to
			DialContext:            dialer.DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns:           idleConns,
			MaxIdleConnsPerHost:    idleConnsPerHost,
			IdleConnTimeout:        idleTimeout,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			// Without pings, attempts on a dead HTTP/2 connection would time out one after another.
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: connectTimeout},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
