package loadgen

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// dialTimeout bounds a connection attempt.
const dialTimeout = 3 * time.Second

// maxAnswer is in bytes.
const maxAnswer = 8 << 20

// target is one address to send to.
type target struct {
	base   string // the address to call: scheme and host
	public string // its public URL
	path   string // "" means the provider's own
	query  string
	client *fasthttp.HostClient
}

func newTarget(address string, o Options) *target {
	u, _ := url.Parse(address) // validated with the options
	t := &target{base: u.Scheme + "://" + u.Host, public: strings.TrimSuffix(o.PublicURL, "/"), query: u.RawQuery}
	if t.public == "" {
		t.public = t.base
	}
	if u.Path != "/" {
		t.path = u.EscapedPath()
	}
	t.client = &fasthttp.HostClient{
		Addr:  fasthttp.AddMissingPort(u.Host, u.Scheme == "https"),
		IsTLS: u.Scheme == "https", TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		MaxConns:     o.Connections,
		ReadTimeout:  o.Timeout,
		WriteTimeout: o.Timeout,
		Dial: func(addr string) (conn net.Conn, err error) {
			return fasthttp.DialDualStackTimeout(addr, min(dialTimeout, o.Timeout))
		},
		MaxResponseBodySize:           maxAnswer,
		NoDefaultUserAgentHeader:      true,
		DisableHeaderNamesNormalizing: true,
		DisablePathNormalizing:        true,
		// A request is sent once: only the ledger's owner may decide to resend it.
		MaxIdemponentCallAttempts: 1,
		RetryIfErr:                func(*fasthttp.Request, int, error) (bool, bool) { return false, false },
	}
	return t
}
