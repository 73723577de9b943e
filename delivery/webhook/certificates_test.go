package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificateText is a PEM file with a certificate by a key of its own.
func certificateText(t *testing.T, public, private any, until time.Time) string {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sender"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// Certificates are fetched within bounds:
//   - one is fetched once, and its key believed until it runs out; what could not be fetched is not asked for again at once
//   - what is no certificate of an RSA key that is valid now, or leads to no root, gives no key
//   - strangers who name others can have us fetch a few, and no more
//   - no private address is reached, nor one behind a redirect
func TestCertificatesAreFetchedWithinBounds(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	valid := certificateText(t, &key.PublicKey, key, time.Now().Add(48*time.Hour))
	files := map[string]string{
		"/valid.pem": valid, "/old.pem": certificateText(t, &key.PublicKey, key, time.Now().Add(-time.Minute)),
		"/ecdsa.pem": certificateText(t, &other.PublicKey, other, time.Now().Add(time.Hour)), "/text.pem": "hello",
		"/chain.pem": valid + certificateText(t, &other.PublicKey, other, time.Now().Add(time.Hour)), "/long.pem": strings.Repeat(" ", 70<<10) + valid,
	}
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/moved.pem" {
			http.Redirect(w, r, "/valid.pem", http.StatusFound)
			return
		}
		text, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	loopback := newDialer(guard{allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	fresh := func() *Certificates {
		return newCertificates(newHTTP(loopback, &tls.Config{RootCAs: roots}), roots)
	}

	c := fresh()
	for range 3 {
		got, err := c.Key(server.URL + "/valid.pem")
		require.NoError(t, err)
		require.True(t, got.Equal(&key.PublicKey))
	}
	require.Equal(t, int64(1), asked.Load())
	c.now = func() time.Time { return time.Now().Add(49 * time.Hour) }
	_, err = c.Key(server.URL + "/valid.pem")
	require.Error(t, err, "it has run out")

	for _, path := range []string{"/old.pem", "/ecdsa.pem", "/text.pem", "/chain.pem", "/long.pem", "/moved.pem", "/nothing.pem"} {
		c := fresh()
		before := asked.Load()
		for range 2 {
			_, err := c.Key(server.URL + path)
			require.Error(t, err, path)
		}
		require.Equal(t, before+1, asked.Load(), "%s: once a minute", path)
	}

	c, before := fresh(), asked.Load()
	for i := range 100 {
		_, err := c.Key(server.URL + "/" + strconv.Itoa(i) + ".pem")
		require.Error(t, err)
	}
	require.Equal(t, before+certificatesAtOnce, asked.Load())
	require.LessOrEqual(t, len(c.kept), maxCertificates)

	c = fresh()
	_, err = c.Key(server.URL + "/valid.pem")
	require.NoError(t, err)
	c.now = func() time.Time { return time.Now().Add(25 * time.Hour) } // beyond what is believed without another look
	for i := range 200 {
		_, _ = c.Key(server.URL + "/other" + strconv.Itoa(i) + ".pem")
	}
	_, err = c.Key(server.URL + "/valid.pem")
	require.NoError(t, err, "a URL that has been good needs nothing of what strangers use up")

	before = asked.Load()
	_, err = newCertificates(newHTTP(newDialer(guard{}), &tls.Config{RootCAs: roots}), roots).Key(server.URL + "/valid.pem")
	require.Error(t, err)
	require.Equal(t, before, asked.Load(), "loopback is no public address")
}
