package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &header) || errors.Is(err, http.ErrSchemeMismatch) || textOfTLS(err) != ""
}

// isRemoteAlert reports whether the endpoint has refused the handshake. Over TCP, crypto/tls has no type for alerts.
func isRemoteAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// prefixTLS begins the errors of crypto/tls that have no type.
const prefixTLS = "tls: "

// textOfTLS returns the text of an untyped error of crypto/tls, without the prefix; "" if there is none.
func textOfTLS(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		if text, ok := strings.CutPrefix(err.Error(), prefixTLS); ok {
			return text
		}
	}
	return ""
}

// handshakeFailure names the cause without anything from the certificate.
func handshakeFailure(err error) string {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	text := textOfTLS(err)
	switch {
	case errors.As(err, &certificate):
		return certificateFailure(certificate)
	case errors.As(err, &header), errors.Is(err, http.ErrSchemeMismatch):
		return "the endpoint doesn't speak TLS"
	case text == "protocol version not supported", strings.HasPrefix(text, "server selected unsupported protocol version"):
		return "the endpoint supports no TLS version from 1.2 on"
	case isRemoteAlert(err):
		return "the endpoint rejected the handshake (" + text + ")"
	case strings.Contains(text, "negative serial number"):
		return "the certificate has a negative serial number, which RFC 5280 forbids: the endpoint needs another one"
	case strings.HasPrefix(text, "failed to parse certificate"):
		return "the certificate is malformed"
	case strings.Contains(text, "insecure") && strings.Contains(text, "RSA"), strings.Contains(text, "RSA key"):
		return "the certificate's RSA key has an unsupported size"
	}
	return "the handshake failed"
}

// certificateFailure says why a certificate wasn't accepted.
func certificateFailure(err *tls.CertificateVerificationError) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var roots x509.SystemRootsError
	switch {
	case errors.As(err, &host):
		return nameFailure(host.Certificate)
	case errors.As(err, &invalid):
		return invalidFailure(invalid)
	case errors.As(err, &unknown) && slices.ContainsFunc(err.UnverifiedCertificates, hasOldSignature):
		return "the certificate, or one between it and its authority, is signed with SHA-1 or MD5: the endpoint needs a new one"
	case errors.As(err, &unknown) && len(err.UnverifiedCertificates) > 0 && isSelfSigned(err.UnverifiedCertificates[0]):
		return "the certificate is self-signed, so it is signed by an unknown authority: put it into http.ca"
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority: put that into http.ca, or let the endpoint send the certificates " +
			"in between"
	case errors.As(err, &roots):
		return "this machine has no certificates of public authorities: install ca-certificates, or set http.ca"
	}
	return "the certificate can't be verified"
}

func nameFailure(c *x509.Certificate) string {
	if len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses)+len(c.URIs) == 0 {
		return "the certificate has no subject alternative name (SAN), and a common name doesn't count"
	}
	return "the certificate is for another name"
}

func invalidFailure(invalid x509.CertificateInvalidError) string {
	switch invalid.Reason { //nolint:exhaustive // the others are rare and have one text
	case x509.Expired:
		if invalid.Cert.NotBefore.After(time.Now()) {
			return "the certificate isn't valid yet"
		}
		return "the certificate has expired"
	case x509.IncompatibleUsage:
		return "the certificate isn't for servers: its extended key usage lacks server authentication"
	case x509.NotAuthorizedToSign:
		return "the certificate was issued with one that isn't an authority's"
	case x509.CANotAuthorizedForThisName:
		return "the certificate's authority may not issue certificates for this name"
	}
	return "the certificate isn't valid"
}

// hasOldSignature reports whether x509 rejects the signature because of its algorithm.
func hasOldSignature(c *x509.Certificate) bool {
	return slices.Contains([]x509.SignatureAlgorithm{
		x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1,
	}, c.SignatureAlgorithm)
}
