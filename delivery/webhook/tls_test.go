package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// authority signs certificates for the servers and clients of tests.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t, key, cert}
}

// sign makes a certificate for 127.0.0.1, or for what change makes of it.
func (a *authority) sign(change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "holdfast"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return name
}

func (a *authority) file(name string) string { return writePEM(a.t, name, "CERTIFICATE", a.cert.Raw) }

func writePair(t *testing.T, folder string, c tls.Certificate) (certificate, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	return writePEM(t, filepath.Join(folder, "client.pem"), "CERTIFICATE", c.Certificate[0]),
		writePEM(t, filepath.Join(folder, "client.key"), "PRIVATE KEY", der)
}

func newTLSEndpointConfig(shown tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
}

// newTLSServer answers 200 over one protocol: h2 or http/1.1.
func newTLSServer(t *testing.T, config *tls.Config, protocol string) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	config = config.Clone()
	config.NextProtos = []string{protocol}
	server.TLS = &tls.Config{ // httptest refuses certificates that it can't parse
		MinVersion: config.MinVersion, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return config, nil },
	}
	server.EnableHTTP2 = protocol == "h2"
	server.Config.ErrorLog = discarded()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// newTLSEndpoint shows a certificate and, with clients, wants one of that authority.
func newTLSEndpoint(t *testing.T, shown tls.Certificate, clients *x509.CertPool) *endpoint {
	t.Helper()
	r := &endpoint{got: make(chan request, 100)}
	r.Server = httptest.NewUnstartedServer(r.handler(t, nil))
	r.TLS = newTLSEndpointConfig(shown)
	r.EnableHTTP2 = true
	if clients != nil {
		r.TLS.ClientAuth, r.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	r.Config.ErrorLog = discarded()
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

// An endpoint may have an authority of its own, and want to see a certificate. Files that have changed are read again.
func TestCertificatesOfADestination(t *testing.T) {
	t.Parallel()
	one, two := newAuthority(t), newAuthority(t)
	folder := t.TempDir()
	s := newTestSender(t, folder)
	first := newTLSEndpoint(t, one.sign(nil), one.pool())
	second := newTLSEndpoint(t, two.sign(nil), nil)
	target := to(first.URL)
	h := target.Destination.HTTP
	send := func() delivery.Result { return s.Send(t.Context(), target, jobOf(0), messageOf(`{}`)) }

	require.Equal(t, "tls", send().Code, "nobody knows the authority")
	h.CA = one.file(filepath.Join(folder, "ca.pem"))
	require.Equal(t, delivery.Bad, send().Kind, "no certificate is shown")
	h.Certificate, h.Key = writePair(t, folder, one.sign(nil))
	got := first.deliver(t, s, target, messageOf(`{}`))
	require.Equal(t, "HTTP/2.0", got.Proto)
	require.Len(t, got.TLS.PeerCertificates, 1)

	h.URL = second.URL
	require.Equal(t, "tls", send().Code)
	two.file(h.CA)
	require.NoError(t, os.Chtimes(h.CA, time.Now(), time.Now().Add(time.Second))) // a clock that is coarse
	second.deliver(t, s, target, messageOf(`{}`))
	require.NoError(t, os.WriteFile(h.CA, []byte("nothing of the kind"), 0o600))
	require.Equal(t, delivery.Blocked, send().Kind)
	require.NoError(t, os.Remove(h.CA))
	require.Equal(t, "tls_files", send().Code)
}

// An authority is PEM text, or a file of at most 1 MiB below one folder. Nothing else is read, and an unreadable file blocks no other
// destination.
func TestWhereAnAuthorityStands(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	endpoint := newTLSEndpoint(t, a.sign(nil), nil)
	target := to(endpoint.URL)
	h := target.Destination.HTTP
	parent := t.TempDir()
	folder := filepath.Join(parent, "certificates")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "..data"), 0o700))
	s := newTestSender(t, folder)
	outside := a.file(filepath.Join(parent, "outside.pem"))
	inside := a.file(filepath.Join(folder, "..data", "inside.pem"))
	require.NoError(t, os.Symlink("..data/inside.pem", filepath.Join(folder, "mounted.pem")))
	for name, ca := range map[string]string{
		"absolute": inside, "relative": "..data/inside.pem", "a link that stays": "mounted.pem",
		"text": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})),
	} {
		h.CA = ca
		require.Equal(t, delivery.OK, s.Send(t.Context(), target, jobOf(0), messageOf(`{}`)).Kind, name)
	}

	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link.pem")))
	require.NoError(t, os.Symlink("../outside.pem", filepath.Join(folder, "up.pem")))
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	large := append(text, bytes.Repeat([]byte("\n"), delivery.MaxPEM)...)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "large.pem"), large, 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe.pem"), 0o600))
	for _, ca := range []string{
		outside, "../outside.pem", "..data/../../outside.pem", "link.pem", "up.pem", "large.pem", "pipe.pem", "..data", "none.pem",
	} {
		h.CA = ca
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, "tls_files", result.Code, ca)
		require.NotContains(t, result.Error, ".pem")
	}
	h.CA = ""
	h.Certificate, h.Key = writePair(t, parent, a.sign(nil))
	require.Equal(t, "tls_files", s.Send(t.Context(), target, jobOf(0), messageOf(`{}`)).Code, "a key outside of it")
	h.CA, h.Certificate, h.Key = inside, "", ""
	require.Equal(t, "tls_files", newTestSender(t).Send(t.Context(), target, jobOf(0), messageOf(`{}`)).Code, "no folder is configured")
}

// A certificate that does not hold is trouble of the endpoint, in words that do not name it.
func TestCertificatesThatDoNotHold(t *testing.T) {
	t.Parallel()
	trusted, unknown := newAuthority(t), newAuthority(t)
	folder := t.TempDir()
	s := newTestSender(t, folder)
	ca := trusted.file(filepath.Join(folder, "ca.pem"))
	for says, shown := range map[string]tls.Certificate{
		"unknown authority": unknown.sign(nil),
		"another name": trusted.sign(func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(192, 0, 2, 1)}, []string{"secret.example.com"}
		}),
		"expired": trusted.sign(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
	} {
		endpoint := newTLSEndpoint(t, shown, nil)
		target := to(endpoint.URL)
		target.Destination.HTTP.CA = ca
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Bad, result.Kind, says)
		require.Equal(t, "tls", result.Code, says)
		require.Contains(t, result.Error, says)
		require.NotContains(t, result.Error, "secret")
		require.NotContains(t, result.Error, "127.0.0.1")
		require.Empty(t, endpoint.got)
	}

	plain := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
	target := to("https" + plain.URL[len("http"):])
	result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
	require.Equal(t, "tls", result.Code)
	require.Contains(t, result.Error, "speak TLS")
}
