package webhook

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// The bounds of one exchange. The caller's context bounds the whole.
const (
	connectTimeout   = 5 * time.Second
	maxHeaderBytes   = 16 << 10
	idleConns        = 1024
	idleConnsPerHost = 64
	idleTimeout      = time.Minute
	pingAfter        = 15 * time.Second
)

// newDialer makes connections that the guard lets pass.
func newDialer(g guard) *net.Dialer { return &net.Dialer{Timeout: connectTimeout, Control: g.control} }

// newHTTP makes a client that follows no redirect and inflates nothing. config is nil for the certificates of the machine.
func newHTTP(dialer *net.Dialer, config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy of the environment would connect where the guard cannot look
			DialContext:            dialer.DialContext,
			TLSClientConfig:        config,
			TLSHandshakeTimeout:    connectTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns:           idleConns,
			MaxIdleConnsPerHost:    idleConnsPerHost,
			IdleConnTimeout:        idleTimeout,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			// A connection of HTTP/2 whose other end is gone without a word would fail each attempt at its deadline.
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: connectTimeout},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
