package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// The codes of what prevents an answer.
const (
	codeAddress    = "address"         // the destination has no usable address or header
	codeAnswer     = "answer_too_long" // only of questions
	codePrivate    = "private_address"
	codeTimeout    = "timeout"
	codeDNS        = "dns"
	codeTLS        = "tls"
	codeConnection = "connection"
	codeStopped    = "stopped"
)

// Error says why there is no answer, without the address.
type Error struct {
	// Code is a short, stable name.
	Code   string
	Reason string
	cause  error
}

// Error is "post: reason".
func (e *Error) Error() string { return "post: " + e.Reason }

// Unwrap gives the cause, for errors.Is; its text may name the address.
func (e *Error) Unwrap() error { return e.cause }

// failure names the reason in words of our own: those of the standard library tell the address.
func failure(err error) *Error {
	e := &Error{Code: codeConnection, Reason: connectionFailure(err), cause: err}
	var refused *PrivateAddressError
	var lookup *net.DNSError
	var network net.Error
	switch {
	case errors.As(err, &refused):
		e.Code, e.Reason = codePrivate, "the address is not of the public internet"
	case errors.Is(err, context.Canceled):
		e.Code, e.Reason = codeStopped, "it was given up"
	case errors.As(err, &lookup):
		e.Code, e.Reason = codeDNS, "its name cannot be looked up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		e.Code, e.Reason = codeTimeout, timeoutOf(err)
	case isTLS(err):
		e.Code, e.Reason = codeTLS, "no TLS: "+handshakeFailure(err)
	}
	return e
}

// connectionFailure says how a connection failed.
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

// timeoutOf says what took too long.
func timeoutOf(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return "connecting timed out: no response from the endpoint's host"
	}
	return "no response in time"
}

func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &header) || errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), "tls: ") {
			return true
		}
	}
	return false
}

func handshakeFailure(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority"
	case errors.As(err, &host):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet"
	case errors.As(err, &header), errors.Is(err, http.ErrSchemeMismatch):
		return "it speaks another protocol"
	case errors.As(err, &alert):
		return "it refused the handshake (" + strings.TrimPrefix(alert.Error(), "tls: ") + ")"
	}
	return "the handshake failed"
}
