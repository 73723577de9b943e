package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

const maxOwnClients = 256

// clients holds an HTTP client for each proxy and one without, which destinations share, and one for each set of certificates.
type clients struct {
	dialer *net.Dialer
	folder folder
	routes Routes
	// shared are by the name of the proxy; "" is the direct one.
	shared map[string]*http.Client
	mu     sync.Mutex
	own    *lru.Cache[[sha256.Size]byte, ownClient]
}

// Routes are the ways out of this process.
type Routes struct {
	Proxies proxy.List
	// Default is the proxy of destinations that name none, and of requests to providers; nil is none.
	Default *proxy.Proxy
}

// of returns the proxy that a destination names, or the default; nil for none. ok is false if this process has no such proxy.
func (r Routes) of(name string) (via *proxy.Proxy, ok bool) {
	switch name {
	case "":
		return r.Default, true
	case delivery.ProxyDirect:
		return nil, true
	}
	return r.Proxies.Find(name)
}

func nameOf(via *proxy.Proxy) string {
	if via == nil {
		return ""
	}
	return via.Name()
}

// ownClient was built from files with these stamps.
type ownClient struct {
	http *http.Client
	from [3]stamp
}

func newClients(dialer *net.Dialer, certificates string, routes Routes) *clients {
	own, err := lru.NewWithEvict(maxOwnClients, func(_ [sha256.Size]byte, old ownClient) { old.http.CloseIdleConnections() })
	if err != nil {
		panic(err) // only an invalid size is an error
	}
	shared := map[string]*http.Client{"": newDestinationHTTP(dialer, nil, nil)}
	for _, via := range routes.Proxies {
		shared[via.Name()] = newDestinationHTTP(dialer, via, nil)
	}
	return &clients{dialer: dialer, folder: folder(certificates), routes: routes, shared: shared, own: own}
}

// of returns the client of a destination that connects through a proxy; nil is none. It reads certificate files again when they
// change, without blocking other attempts. Errors name no file.
func (c *clients) of(h *delivery.HTTP, via *proxy.Proxy) (*http.Client, error) {
	t := trust{h.CA, h.Certificate, h.Key}
	if t == (trust{}) {
		return c.shared[nameOf(via)], nil
	}
	from, err := t.stamps(c.folder)
	if err != nil {
		return nil, err
	}
	id := t.id(nameOf(via))
	if made, ok := c.made(id); ok && made.from == from {
		return made.http, nil
	}
	config, err := t.config(c.folder)
	if err != nil {
		return nil, err
	}
	return c.keep(id, from, via, config), nil
}

func (c *clients) made(id [sha256.Size]byte) (ownClient, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own.Get(id)
}

// keep adds a client, unless a concurrent attempt has built the same one.
func (c *clients) keep(id [sha256.Size]byte, from [3]stamp, via *proxy.Proxy, config *tls.Config) *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.own.Get(id); ok && made.from == from {
		return made.http
	}
	c.own.Remove(id)
	made := ownClient{http: newDestinationHTTP(c.dialer, via, config), from: from}
	c.own.Add(id, made)
	return made.http
}

func (c *clients) close() {
	for _, shared := range c.shared {
		shared.CloseIdleConnections()
	}
	c.own.Purge()
}

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

// Limits of a request, in addition to the caller's context. Endpoints with longer headers than maxHeaderBytes exist only by
// mistake: 256 KiB is more than the common servers can send.
const (
	connectTimeout   = 5 * time.Second // not for attempts
	maxHeaderBytes   = 256 << 10
	idleConns        = 1024
	idleConnsPerHost = 64
	idleTimeout      = time.Minute
	pingAfter        = 15 * time.Second
)

// NewTransport returns a transport that connects to nothing but the public internet and the allowed networks, through a proxy
// unless it is nil. It follows no proxy of the environment, and decompresses nothing.
func NewTransport(allowed []netip.Prefix, via *proxy.Proxy) http.RoundTripper {
	return newHTTP(through(newDialer(guard{allowed: allowed}), via), nil).Transport
}

// connector connects to host:port.
type connector interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// through returns what connects through a proxy, with the dialer's resolver and guard; without a proxy, the dialer.
func through(dialer *net.Dialer, via *proxy.Proxy) connector {
	if via == nil {
		return dialer
	}
	return proxy.Tunnel{Dialer: dialer, Proxy: via}
}

// newDialer only connects to addresses that the guard allows. An idle connection ends 25 s after its peer or network has gone
// without a word: each attempt on it would wait until its timeout.
func newDialer(g guard) *net.Dialer {
	return &net.Dialer{
		Timeout: connectTimeout, Control: g.control,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: pingAfter, Interval: connectTimeout, Count: 2},
	}
}

// newHTTP returns a client that follows no redirects and decompresses nothing. A nil config uses the system's certificates.
func newHTTP(dialer connector, config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // neither the environment's: through has the configured one, behind the guard
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

// withoutReuse returns a client with the same settings that makes a new connection for each request, and keeps none.
func withoutReuse(client *http.Client) *http.Client {
	transport := client.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}
}
