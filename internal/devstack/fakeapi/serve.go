package fakeapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"time"
)

// HTTPS serves an API on a port of loopback.
type HTTPS struct {
	// Port is that on 127.0.0.1. Certificate is PEM, and valid for one host only.
	Port        string
	Certificate []byte
	server      *http.Server
}

// Serve serves an API over HTTPS as a host, until Close. The key is only in memory.
func Serve(host string, api http.Handler) (*HTTPS, error) {
	certificate, err := certificateFor(host)
	if err != nil {
		return nil, fmt.Errorf("make certificate of %s: %w", host, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as %s: %w", host, err)
	}
	s := &HTTPS{
		Port:        strconv.Itoa(listener.Addr().(*net.TCPAddr).Port),
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		server: &http.Server{
			Handler: api, ReadHeaderTimeout: 5 * time.Second,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		},
	}
	go func() { _ = s.server.ServeTLS(listener, "", "") }() // ends with Close
	return s, nil
}

// Close stops the server.
func (s *HTTPS) Close() error { return s.server.Close() }

func certificateFor(host string) (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), DNSNames: []string{host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
