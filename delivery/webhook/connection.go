package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

// newDestinationHTTP returns a client for attempts, through a proxy unless it is nil. Unlike newHTTP's, connecting and the TLS
// handshake may take until the end of the attempt, and a connection remembers the status that it has read.
func newDestinationHTTP(dialer *net.Dialer, via *proxy.Proxy, config *tls.Config) *http.Client {
	client := newHTTP(dialer, config)
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport, patient := client.Transport.(*http.Transport), *dialer
	patient.Timeout = 0
	out := through(&patient, via)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := dialContext(ctx)
		defer cancel()
		conn, err := out.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		progressOf(ctx).reached(stepConnected)
		return &connection{Conn: conn}, nil
	}
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := dialContext(ctx)
		defer cancel()
		conn, err := out.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		progressOf(ctx).reached(stepConnected)
		return handshake(ctx, conn, address, config)
	}
	return client
}

// dialContext ends when the attempt does, because net/http detaches the context of a dial from the request's.
func dialContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if p := progressOf(ctx); !p.end.IsZero() {
		return context.WithDeadline(ctx, p.end)
	}
	return context.WithTimeout(ctx, time.Duration(delivery.DefaultTimeout))
}

// handshake returns a *tls.Conn for HTTP/2, as net/http requires, and a connection for HTTP/1.
func handshake(ctx context.Context, conn net.Conn, address string, config *tls.Config) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	p := progressOf(ctx)
	config = config.Clone()
	config.ServerName, config.NextProtos = host, []string{"h2", "http/1.1"}
	own := config.Certificates
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range own {
			if request.SupportsCertificate(&own[i]) == nil {
				p.asked(sentCertificate(own[i]))
				return &own[i], nil
			}
		}
		if len(own) > 0 {
			p.asked(certificateUnfit)
		} else {
			p.asked(certificateMissing)
		}
		return &tls.Certificate{}, nil
	}
	secured := tls.Client(newCloser(conn), config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	p.isSecured(secured)
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		return secured, nil
	}
	return &connection{Conn: secured}, nil
}

func sentCertificate(own tls.Certificate) clientCertificate {
	if own.Leaf != nil && time.Now().After(own.Leaf.NotAfter) {
		return certificateExpired
	}
	return certificateSent
}

// closer shows when a connection was closed.
type closer struct {
	net.Conn

	closed chan struct{}
	once   sync.Once
}

func newCloser(conn net.Conn) *closer { return &closer{Conn: conn, closed: make(chan struct{})} }

func (c *closer) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// connection is an HTTP/1 connection that remembers the status of a response. net/http drops a response whose header it can't
// read: too many fields, an unknown Transfer-Encoding. The endpoint has answered nevertheless.
type connection struct {
	net.Conn

	mu   sync.Mutex
	line []byte
	// between is set in the fields of an informational response.
	between, unreadable bool
	code                int
}

// maxStatusLine bounds the part of a line that is kept.
const maxStatusLine = 64

// begin forgets the status of the response before.
func (c *connection) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line, c.between, c.unreadable, c.code = nil, false, false, 0
}

// status returns the final status of the response; 0 if none was read.
func (c *connection) status() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(p[:n])
	return n, err
}

// look reads up to the status line of the final response.
func (c *connection) look(p []byte) {
	for len(p) > 0 && c.code == 0 && !c.unreadable {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		c.line = append(c.line, line[:min(len(line), maxStatusLine-len(c.line))]...)
		if !whole {
			return
		}
		c.endLine(string(bytes.TrimSuffix(c.line, []byte("\r"))))
		p, c.line = rest, c.line[:0]
	}
}

func (c *connection) endLine(line string) {
	if c.between {
		c.between = line != ""
		return
	}
	code, ok := statusIn(line)
	switch {
	case !ok:
		c.unreadable = true
	case code < 200 && code != http.StatusSwitchingProtocols:
		c.between = true
	default:
		c.code = code
	}
}

// statusIn parses the beginning of a status line: HTTP/1.1 200 OK.
func statusIn(line string) (code int, ok bool) {
	const begin, end = len("HTTP/1.1 "), len("HTTP/1.1 200")
	if len(line) < end || len(line) > end && line[end] != ' ' {
		return 0, false
	}
	if _, _, ok := http.ParseHTTPVersion(line[:begin-1]); !ok || line[:7] != "HTTP/1." || line[begin-1] != ' ' {
		return 0, false
	}
	for _, digit := range []byte(line[begin:end]) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		code = 10*code + int(digit-'0')
	}
	return code, code >= 100
}
