package webhook

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// Each cause of a failed handshake has words of its own, against servers that really fail like this.
func TestTLSFailuresNameTheirCause(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	folder := t.TempDir()
	ca := a.file(filepath.Join(folder, "ca.pem"))
	own := writeClient(t, folder, "own", a.sign(nil))
	foreign := writeClient(t, folder, "foreign", stranger.under(nil).sign(nil)) // its name isn't among those that servers list
	plain := a.sign(nil)
	requires := func(version uint16) *tls.Config {
		return &tls.Config{
			Certificates: []tls.Certificate{plain}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool(),
			MinVersion: version, MaxVersion: version,
		}
	}
	unlisted := requires(tls.VersionTLS13) // it names no authorities, so that any certificate is sent
	unlisted.ClientCAs, unlisted.ClientAuth = nil, tls.RequireAnyClientCert
	unlisted.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { return x509.UnknownAuthorityError{} }
	with := func(change func(*x509.Certificate)) *tls.Config { return newTLSEndpointConfig(a.sign(change)) }
	const noClient = "it asked for a client certificate, and the destination has none: set http.certificate and http.key"
	for name, c := range map[string]struct {
		server *tls.Config
		client [2]string
		says   string
	}{
		"a client certificate, TLS 1.3": {requires(tls.VersionTLS13), [2]string{}, noClient},
		"a client certificate, TLS 1.2": {requires(tls.VersionTLS12), [2]string{}, noClient},
		"one of another authority": {requires(tls.VersionTLS13), foreign,
			"it asked for a client certificate of another authority or kind than http.certificate"},
		"one that is refused": {unlisted, own, "it got the certificate in http.certificate"},
		"TLS 1.0 only": {&tls.Config{
			Certificates: []tls.Certificate{plain}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10,
		}, [2]string{}, "the endpoint supports no TLS version from 1.2 on"},
		"no SAN": {with(func(c *x509.Certificate) { c.IPAddresses, c.Subject = nil, pkix.Name{CommonName: "127.0.0.1"} }), [2]string{},
			"the certificate has no subject alternative name (SAN), and a common name doesn't count"},
		"for clients only": {with(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
			[2]string{}, "the certificate isn't for servers: its extended key usage lacks server authentication"},
		"not valid yet": {with(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), [2]string{},
			"the certificate isn't valid yet"},
		"a negative serial number": {newTLSEndpointConfig(withNegativeSerial(t, plain)), [2]string{},
			"the certificate has a negative serial number"},
		"self-signed": {newTLSEndpointConfig(selfSigned(t)), [2]string{}, "the certificate is self-signed"},
	} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			endpoint := newTLSServer(t, c.server, protocol)
			target := to(endpoint.URL)
			h := target.Destination.HTTP
			h.CA, h.Certificate, h.Key = ca, c.client[0], c.client[1]
			result := newTestSender(t, folder).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
			if c.client == own && result.Code == "connection" {
				result.Code = "tls" // the reset of the connection has overtaken the alert
			}
			require.Equal(t, "tls", result.Code, "%s %s: %s", name, protocol, result.Error)
			require.Equal(t, delivery.Bad, result.Kind, name)
			require.Contains(t, result.Error, c.says, "%s %s", name, protocol)
			require.Equal(t, delivery.Reached, result.Reach, name)
			require.False(t, result.Resent)
			require.NotContains(t, result.Error, "127.0.0.1")
		}
	}
	closes := newRawServer(t, true, func(c net.Conn) { _, _ = c.Read(make([]byte, 10)) })
	result := newTestSender(t).Send(t.Context(), to("https://"+closes), jobOf(0), messageOf(`{}`))
	require.Equal(t, "tls", result.Code)
	require.Contains(t, result.Error, "the endpoint closed the connection during the handshake")
}

// What crypto/tls can't serve comes from openssl: a certificate that a configured authority has signed with SHA-1, an OpenSSL
// server that wants a client certificate, and one that speaks nothing newer than TLS 1.1.
func TestTLSFailuresOfAnOpenSSLServer(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl isn't installed")
	}
	folder := t.TempDir()
	run := func(args ...string) {
		out, err := command(t, folder, openssl, args...).CombinedOutput()
		require.NoError(t, err, "%s\n%s", strings.Join(args, " "), out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "san"), []byte("subjectAltName=IP:127.0.0.1\n"), 0o600))
	run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "9", "-subj", "/CN=authority")
	run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=old")
	for name, digest := range map[string]string{"old": "-sha1", "new": "-sha256"} {
		run("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9", digest,
			"-extfile", "san", "-out", name+".pem")
	}
	for says, args := range map[string][]string{
		"is signed with SHA-1 or MD5":                      {"-cert", "old.pem", "-cipher", "ALL:@SECLEVEL=0"},
		"it asked for a client certificate, and the":       {"-cert", "new.pem", "-Verify", "1", "-CAfile", "ca.pem"},
		"the endpoint supports no TLS version from 1.2 on": {"-cert", "new.pem", "-cipher", "ALL:@SECLEVEL=0", "-tls1_1"},
	} {
		address := startOpenSSL(t, folder, openssl, args)
		target := to("https://" + address)
		target.Destination.HTTP.CA = "ca.pem"
		result := newTestSender(t, folder).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, "tls", result.Code, "%s: %s", says, result.Error)
		require.Contains(t, result.Error, says)
	}
}

func command(t *testing.T, folder, program string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = folder
	return c
}

// startOpenSSL starts s_server and returns its address once it accepts connections.
func startOpenSSL(t *testing.T, folder, openssl string, args []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	var out bytes.Buffer
	server := command(t, folder, openssl, append([]string{"s_server", "-accept", address, "-key", "server.key", "-quiet", "-www"}, args...)...)
	server.Stdout, server.Stderr = &out, &out
	require.NoError(t, server.Start())
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond, "openssl: %s", &out)
	return address
}

func writeClient(t *testing.T, folder, name string, c tls.Certificate) [2]string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	return [2]string{
		writePEM(t, filepath.Join(folder, name+".pem"), "CERTIFICATE", c.Certificate[0]),
		writePEM(t, filepath.Join(folder, name+".key"), "PRIVATE KEY", der),
	}
}

// withNegativeSerial changes the sign of the serial number in a certificate, which no Go program would write.
func withNegativeSerial(t *testing.T, c tls.Certificate) tls.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	require.NoError(t, err)
	serial := leaf.SerialNumber.Bytes()
	require.Less(t, serial[0], byte(0x80), "the DER has no leading zero")
	der := bytes.Clone(c.Certificate[0])
	at := bytes.Index(der, serial)
	der[at] |= 0x80
	c.Certificate = [][]byte{der}
	return c
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	a := newAuthority(t)
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "itself"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}
