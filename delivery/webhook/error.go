package webhook

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

// Codes of attempts without a response.
const (
	codeAddress    = "address"         // unusable address or header
	codeAnswer     = "answer_too_long" // only Client
	codePrivate    = "private_address"
	codeTimeout    = "timeout"
	codeDNS        = "dns"
	codeTLS        = "tls"
	codeConnection = "connection"
	codeStopped    = "stopped"
	codeRefused    = "proxy_refused"      // the proxy's rules refuse the endpoint
	codeExpired    = "client_certificate" // the endpoint has refused one that has expired
	codeNoProxy    = "proxy_unknown"      // this process has no such proxy
)

// Error says why there is no response, without the address.
type Error struct {
	// Code is short and stable.
	Code   string
	Reason string
	cause  error
}

// Error returns "post: reason".
func (e *Error) Error() string { return "post: " + e.Reason }

// Unwrap returns the cause; its text may contain the address.
func (e *Error) Unwrap() error { return e.cause }

// failure replaces the text of standard library errors, which contains the address.
func failure(err error) *Error {
	e := &Error{Code: codeConnection, Reason: connectionFailure(err), cause: err}
	var refused *PrivateAddressError
	var lookup *net.DNSError
	var network net.Error
	if via, ok := errors.AsType[*proxy.Error](err); ok {
		return proxyFailure(via)
	}
	switch {
	case errors.As(err, &refused):
		e.Code, e.Reason = codePrivate, "the address isn't public"
	case errors.Is(err, context.Canceled):
		e.Code, e.Reason = codeStopped, "the attempt was aborted"
	case errors.As(err, &lookup):
		e.Code, e.Reason = codeDNS, "DNS lookup failed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		e.Code, e.Reason = codeTimeout, timeoutOf(err)
	case isTLS(err):
		e.Code, e.Reason = codeTLS, "TLS failed: "+handshakeFailure(err)
	}
	return e
}

// proxyFailure distinguishes a proxy that can't be used from an endpoint that the proxy can't reach.
func proxyFailure(err *proxy.Error) *Error {
	e := &Error{Code: codeConnection, Reason: err.Error(), cause: err}
	switch {
	case err.Fault == proxy.FaultProxy:
		e.Code = delivery.CodeProxy
	case err.Fault == proxy.FaultRule:
		e.Code = codeRefused
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = codeTimeout
	}
	return e
}

func connectionFailure(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens at that address and port"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset by the endpoint before it answered"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed by the endpoint before it answered"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the endpoint's host"
	}
	return "the connection failed or the response isn't HTTP"
}

func timeoutOf(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return "connecting timed out: no response from the endpoint's host"
	}
	return "no response in time"
}
