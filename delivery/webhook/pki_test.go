package webhook

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
)

const (
	snsHost    = "sns.us-west-2.amazonaws.com"
	snsName    = "sns.amazonaws.com"
	issuerHost = "crt.r2m01.amazontrust.com"
	issuerURL  = "http://" + issuerHost + "/r2m01.cer"
)

// signerKey is the RSA key of all senders of these tests, which differ in their certificates.
var signerKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// under makes an authority that this one has signed.
func (a *authority) under(change func(*x509.Certificate)) *authority {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "intermediate"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	return &authority{a.t, key, a.issue(template, &key.PublicKey)}
}

func (a *authority) issue(template *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert
}

// signer makes the certificate of a sender as SNS has them, or as change makes it.
func (a *authority) signer(change func(*x509.Certificate)) *x509.Certificate {
	template := signerTemplate()
	if change != nil {
		change(template)
	}
	return a.issue(template, &signerKey().PublicKey)
}

func signerTemplate() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: snsName}, DNSNames: []string{snsName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IssuingCertificateURL: []string{issuerURL},
	}
}

func pemOf(all ...*x509.Certificate) string {
	var text []byte
	for _, one := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw})...)
	}
	return string(text)
}

// certificateHost serves certificates of senders by HTTPS, and of authorities by HTTP, under every name.
type certificateHost struct {
	t *testing.T
	// root has signed the certificate of the host, through above.
	root, above *authority

	mu sync.Mutex
	// files are what is at each path, and issuers at each URL.
	files, issuers map[string]string
	// cacheControl is a header of files, posted the last body of a POST.
	cacheControl, posted string

	// asked counts requests by HTTPS, and askedIssuers those by HTTP.
	asked, askedIssuers atomic.Int64
	down                atomic.Bool
	secure, plain       string
}

func newCertificateHost(t *testing.T) *certificateHost {
	t.Helper()
	root := newAuthority(t)
	h := &certificateHost{t: t, root: root, above: root.under(nil), files: map[string]string{}, issuers: map[string]string{}}
	shown := h.above.sign(func(c *x509.Certificate) {
		c.DNSNames = []string{"sns.us-west-2.amazonaws.com", "sns.eu-west-1.amazonaws.com", "api.paypal.com"}
	})
	shown.Certificate = append(shown.Certificate, h.above.cert.Raw)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
	secure.Config.ErrorLog = discarded()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewUnstartedServer(http.HandlerFunc(h.serveIssuer))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	require.NoError(t, err)
	plain.Listener = listener
	plain.Start()
	t.Cleanup(plain.Close)
	h.secure, h.plain = secure.Listener.Addr().String(), listener.Addr().String()
	return h
}

func (h *certificateHost) at(files map[string]string, path string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text, ok := files[path]
	return text, ok
}

func (h *certificateHost) serve(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	text, ok := h.at(h.files, r.URL.Path)
	h.mu.Lock()
	w.Header().Set("Cache-Control", h.cacheControl)
	if body, err := io.ReadAll(r.Body); err == nil && r.Method == http.MethodPost {
		h.posted = string(body)
	}
	h.mu.Unlock()
	switch {
	case text == "slow":
		<-r.Context().Done()
	case h.down.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasPrefix(r.URL.Path, "/400/"):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, text)
	case r.URL.Path == "/moved.pem":
		http.Redirect(w, r, "/valid.pem", http.StatusFound)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, text)
	}
}

func (h *certificateHost) serveIssuer(w http.ResponseWriter, r *http.Request) {
	h.askedIssuers.Add(1)
	text, ok := h.at(h.issuers, "http://"+r.Host+r.URL.Path)
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case text == "moved":
		http.Redirect(w, r, "/elsewhere.cer", http.StatusFound)
	default:
		_, _ = io.WriteString(w, text)
	}
}

// client makes one that trusts the roots, reaches the allowed addresses, and takes this host for every other.
func (h *certificateHost) client(roots *x509.CertPool, allowed ...string) *Certificates {
	return newCertificates(h.http(roots, allowed...), roots)
}

func (h *certificateHost) http(roots *x509.CertPool, allowed ...string) *http.Client {
	g := guard{}
	for _, network := range allowed {
		g.allowed = append(g.allowed, netip.MustParsePrefix(network))
	}
	client, dialer := newHTTP(newDialer(g), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), newDialer(g)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		to := map[string]string{"443": h.secure, "80": h.plain}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return dialer.DialContext(ctx, network, to[port])
	}
	return client
}

// fresh makes a client that trusts the host's root and those given, and reaches all of the loopback network.
func (h *certificateHost) fresh(trusted ...*authority) *Certificates {
	roots := h.root.pool()
	for _, one := range trusted {
		roots.AddCert(one.cert)
	}
	return h.client(roots, "127.0.0.0/8")
}

// put serves a file, and says where it is.
func (h *certificateHost) put(path, text string) auth.CertificateAt {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[path] = text
	return auth.CertificateAt{
		URL: "https://" + snsHost + path, Names: []string{snsName, "sns-signing.us-west-2.amazonaws.com"},
		Issuers: []string{"crt.*.amazontrust.com"},
	}
}

func (h *certificateHost) putIssuer(url string, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.issuers[url] = string(text)
}
