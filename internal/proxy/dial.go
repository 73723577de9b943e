package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// connectTimeout bounds the connection to the proxy itself, with TLS or the login of SOCKS5.
const connectTimeout = 5 * time.Second

// keepAlive ends an idle connection 25 s after the proxy, or the network to it, has gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 2}

// Dial connects to host:port through the proxy; the host is a name only if the proxy resolves it. The context bounds it, and
// patience the answer of the proxy, unless it is 0. The error is an *Error, or the context's if that was canceled.
func (p *Proxy) Dial(ctx context.Context, target string, patience time.Duration) (net.Conn, error) {
	return p.dialHealthy(ctx, target, patience, false)
}

// DialEager is Dial for a target that may send something before it is asked. To Dial, such a target isn't an HTTP server.
func (p *Proxy) DialEager(ctx context.Context, target string, patience time.Duration) (net.Conn, error) {
	return p.dialHealthy(ctx, target, patience, true)
}

func (p *Proxy) dialHealthy(ctx context.Context, target string, patience time.Duration, eager bool) (net.Conn, error) {
	failed, probes := p.health.begin(time.Now())
	if failed != nil {
		return nil, failed
	}
	conn, failed := p.dial(ctx, target, patience, eager)
	switch {
	case failed == nil:
		p.health.end(nil, time.Now())
		return conn, nil
	case ended(ctx): // the caller had too little time to learn anything
		p.health.giveUp(probes, time.Now())
	case failed.atAll:
		p.health.end(failed, time.Now())
	default: // it has answered, or has at least accepted the connection
		p.health.end(nil, time.Now())
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	return nil, failed
}

// ended reports whether a context has ended. The deadline of a connection can pass a moment before the context's Err says so.
func ended(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// Check connects to the proxy, without a target. The error is an *Error.
func (p *Proxy) Check(ctx context.Context) error {
	conn, failed := p.connect(ctx)
	if failed != nil {
		return failed
	}
	_ = conn.Close() // nothing was sent that matters
	return nil
}

func (p *Proxy) dial(ctx context.Context, target string, patience time.Duration, eager bool) (net.Conn, *Error) {
	conn, failed := p.connect(ctx)
	if failed != nil {
		return nil, failed
	}
	if patience > 0 {
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		ctx = bounded
	}
	var early []byte
	failed = p.within(ctx, conn, func() (failed *Error) {
		early, failed = p.ask(conn, target)
		return failed
	})
	if failed == nil && len(early) > 0 && !eager { // an endpoint of HTTP, with or without TLS, never speaks first
		failed = p.unreachable("the endpoint sent something before the request: it isn't an HTTP server", nil)
	}
	if failed != nil {
		_ = conn.Close()
		return nil, failed
	}
	if len(early) > 0 {
		return &earlyConn{Conn: conn, early: early}, nil
	}
	return conn, nil
}

// ask asks the proxy to connect to a target. early is what the target has sent since.
func (p *Proxy) ask(conn net.Conn, target string) (early []byte, failed *Error) {
	if p.scheme == schemeSOCKS5 {
		return nil, p.connectSOCKS(conn, target)
	}
	return p.connectHTTP(conn, target)
}

// connect connects to the proxy itself. Its failures are the proxy's, unless the caller's time has run out.
func (p *Proxy) connect(ctx context.Context) (net.Conn, *Error) {
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, failed := p.reach(bounded)
	if failed != nil && ended(ctx) {
		return nil, p.unreachable("connecting to it took longer than the attempt may", context.DeadlineExceeded)
	}
	return conn, failed
}

// reach connects to the proxy's address, which is the installation's decision, so that it may be private.
func (p *Proxy) reach(ctx context.Context) (net.Conn, *Error) {
	conn, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, p.unusable(connectFailure(err))
	}
	switch p.scheme {
	case schemeSOCKS5:
		return p.greeted(ctx, conn)
	case schemeHTTP:
		return conn, nil
	}
	secured := tls.Client(conn, &tls.Config{ServerName: p.host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, p.unusable(secureFailure(err))
	}
	return secured, nil
}

// greeted returns the connection once the proxy has let this client in.
func (p *Proxy) greeted(ctx context.Context, conn net.Conn) (net.Conn, *Error) {
	failed := p.within(ctx, conn, func() *Error { return p.greet(conn) })
	if failed == nil {
		return conn, nil
	}
	_ = conn.Close()
	if failed.Fault == FaultTarget { // it didn't even know one
		return nil, p.unusable("it doesn't respond")
	}
	return nil, p.unusable(failed.Reason)
}

func connectFailure(err error) string {
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &lookup):
		return "its name can't be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens at its address and port"
	case errors.As(err, &network) && network.Timeout():
		return "connecting to it timed out"
	}
	return "it can't be reached"
}

func secureFailure(err error) string {
	var header tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &header):
		return "it doesn't speak TLS: use http:// in its URL"
	case errors.As(err, &unknown):
		return "its certificate is signed by an authority that this machine doesn't trust"
	case errors.As(err, &certificate):
		return "its certificate is for another name, has expired, or isn't valid otherwise"
	}
	return "the TLS handshake with it failed"
}

// within runs an exchange with the proxy until the context ends. If nothing came in time, the target is the more likely cause:
// the proxy has accepted the connection.
func (p *Proxy) within(ctx context.Context, conn net.Conn, exchange func() *Error) *Error {
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	failed := exchange()
	if !stop() && failed == nil {
		failed = p.timeout()
	}
	if failed == nil {
		_ = conn.SetDeadline(time.Time{})
	}
	return failed
}

func (p *Proxy) timeout() *Error {
	return p.unreachable("it didn't answer in time whether it has connected to the endpoint", context.DeadlineExceeded)
}

// broken returns the error of an exchange that broke off.
func (p *Proxy) broken(err error) *Error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return p.timeout()
	}
	return p.fault("it closed the connection, or its answer isn't a proxy's")
}
