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

// Dial connects to host:port through the proxy; the host is a name only if the proxy is to resolve it. The context bounds it. The
// error is an *Error, or the context's if that was canceled.
func (p *Proxy) Dial(ctx context.Context, target string) (net.Conn, error) {
	if failed := p.health.begin(time.Now()); failed != nil {
		return nil, failed
	}
	conn, failed := p.dial(ctx, target)
	canceled := errors.Is(ctx.Err(), context.Canceled)
	if failed != nil && failed.Fault == FaultProxy {
		p.health.end(failed, canceled, time.Now())
	} else {
		p.health.end(nil, false, time.Now())
	}
	switch {
	case failed == nil:
		return conn, nil
	case canceled:
		return nil, ctx.Err()
	}
	return nil, failed
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

func (p *Proxy) dial(ctx context.Context, target string) (net.Conn, *Error) {
	conn, failed := p.connect(ctx)
	if failed != nil {
		return nil, failed
	}
	ask := p.connectHTTP
	if p.scheme == schemeSOCKS5 {
		ask = p.connectSOCKS
	}
	failed = p.within(ctx, conn, func() *Error { return ask(conn, target) })
	if failed != nil {
		_ = conn.Close()
		return nil, failed
	}
	return conn, nil
}

// connect connects to the proxy itself. Its address is the installation's decision, so that it may be private.
func (p *Proxy) connect(ctx context.Context) (net.Conn, *Error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, p.fault("%s", connectFailure(err))
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
		return nil, p.fault("%s", secureFailure(err))
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
		failed = p.fault("it doesn't respond")
	}
	return nil, failed
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
