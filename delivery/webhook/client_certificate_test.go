package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/internal/devstack/proxytest"
)

// clientPEM returns a client certificate and its key as text.
func clientPEM(t *testing.T, c tls.Certificate) [2]string {
	t.Helper()
	files := writeClient(t, t.TempDir(), "client", c)
	var texts [2]string
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[i] = string(text)
	}
	return texts
}

// A stored client certificate is shown to the endpoint, directly and behind a proxy, without a folder of files. A new one is used from
// the next attempt on, on a new connection.
func TestAStoredClientCertificate(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, text := kindsOfProxies["tinyproxy"](t, proxytest.Options{})
	for name, routes := range map[string]Routes{"direct": {}, "proxy": routesThrough(t, text)} {
		endpoint := newTLSEndpoint(t, a.sign(nil), a.pool())
		s := senderThrough(t, routes, nil, "")
		target := to(endpoint.URL)
		authority, err := os.ReadFile(a.file(t.TempDir() + "/ca.pem"))
		require.NoError(t, err)
		target.Destination.HTTP.CA = string(authority)
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, "tls", result.Code, name)
		require.Contains(t, result.Error, "set http.certificate and http.key", name)
		for _, subject := range []string{"one", "two"} {
			own := clientPEM(t, a.sign(func(c *x509.Certificate) { c.Subject.CommonName = subject }))
			target.Destination.HTTP.Certificate, target.Destination.HTTP.Key = own[0], own[1]
			got := endpoint.deliver(t, s, target, messageOf(`{}`))
			require.Equal(t, subject, got.TLS.PeerCertificates[0].Subject.CommonName, name)
		}
	}
}

// An endpoint that refuses an expired certificate isn't sick: the destination can't be used as configured.
func TestAnExpiredClientCertificateBlocks(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		endpoint := newTLSEndpoint(t, a.sign(nil), a.pool())
		endpoint.TLS.MaxVersion = version
		own := clientPEM(t, a.sign(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }))
		target := to(endpoint.URL)
		authority, err := os.ReadFile(a.file(t.TempDir() + "/ca.pem"))
		require.NoError(t, err)
		h := target.Destination.HTTP
		h.CA, h.Certificate, h.Key = string(authority), own[0], own[1]
		result := newTestSender(t).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Blocked, result.Kind, "%s: %s", result.Code, result.Error)
		require.Equal(t, "client_certificate", result.Code)
		require.Contains(t, result.Error, "the client certificate in http.certificate has expired")
		require.Equal(t, delivery.HealthFailing, delivery.Condition{FailingSince: &time.Time{}}.Health())
	}
}

// Texts are checked like files. A masked key was checked when it was stored.
func TestStoredClientKeysAreChecked(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	one, other := clientPEM(t, a.sign(nil)), clientPEM(t, a.sign(nil))
	check, end := CheckFiles(""), CertificateEnd("")
	require.NoError(t, check(delivery.HTTP{Certificate: one[0], Key: one[1]}))
	require.NoError(t, check(delivery.HTTP{Certificate: one[0], Key: delivery.MaskedHeader}))
	for says, h := range map[string]delivery.HTTP{
		"don't belong together":                           {Certificate: one[0], Key: other[1]},
		"http.key contains no usable private key":         {Certificate: one[0], Key: one[0]},
		"http.certificate contains no usable certificate": {Certificate: one[1], Key: delivery.MaskedHeader},
	} {
		err := check(h)
		require.ErrorContains(t, err, says)
		require.Equal(t, "invalid_destination", event.CodeOf(err))
	}
	until, ok := end(delivery.HTTP{Certificate: one[0]})
	require.True(t, ok)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)
	for _, h := range []delivery.HTTP{{}, {Certificate: "client.pem"}, {Certificate: "-----BEGIN nothing"}} {
		_, ok := end(h)
		require.False(t, ok)
	}
}
