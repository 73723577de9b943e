package dev

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"time"
)

// hostTransport has a transport of its own for one host.
type hostTransport struct {
	host        string
	own, others http.RoundTripper
}

// RoundTrip sends a request.
func (t hostTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host {
		return t.own.RoundTrip(r)
	}
	return t.others.RoundTrip(r)
}

// certificateFor returns a new certificate for a host, and a pool that trusts nothing else. Its key is only in memory.
func certificateFor(host string) (c tls.Certificate, trusted *x509.CertPool, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return c, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return c, nil, err
	}
	trusted = x509.NewCertPool()
	trusted.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, trusted, nil
}
