package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
)

// A certificate gives its key only if it is the sender's: valid now, with one of the names, for signing, and with a chain to a root
// of the machine. What couldn't be found out is no_certificate, which the sender sends again; what is wrong is wrong_certificate.
func TestACertificateMustBeTheSenders(t *testing.T) {
	t.Parallel()
	root := newAuthority(t)
	above := root.under(nil)
	other := newAuthority(t)
	self := signerTemplate()
	selfDER, err := x509.CreateCertificate(rand.Reader, self, self, &signerKey().PublicKey, signerKey())
	require.NoError(t, err)
	selfSigned, err := x509.ParseCertificate(selfDER)
	require.NoError(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	short := root.under(func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	})
	longer := above.under(func(c *x509.Certificate) {
		c.IssuingCertificateURL = []string{"http://crt.rootca1.amazontrust.com/rootca1.cer"}
	})
	at := func(urls ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.IssuingCertificateURL = urls }
	}

	for name, c := range map[string]struct {
		file    string
		issuers map[string]string
		reason  denial.Reason
		fetched int64 // by HTTP
		found   string
	}{
		"with the certificate above it in the file": {file: pemOf(above.signer(nil), above.cert)},
		"with the root, too":                        {file: pemOf(above.signer(nil), above.cert, root.cert)},
		"alone, and the one above it is fetched":    {file: pemOf(above.signer(nil)), issuers: map[string]string{issuerURL: string(above.cert.Raw)}, fetched: 1},
		"alone, and that one is PEM":                {file: pemOf(above.signer(nil)), issuers: map[string]string{issuerURL: pemOf(above.cert)}, fetched: 1},
		"two above it are fetched": {file: pemOf(longer.signer(nil)), issuers: map[string]string{
			issuerURL: string(longer.cert.Raw), "http://crt.rootca1.amazontrust.com/rootca1.cer": string(above.cert.Raw)}, fetched: 2},
		"signed by the root itself": {file: pemOf(root.signer(nil))},
		"with a regional name": {file: pemOf(root.signer(func(c *x509.Certificate) {
			c.DNSNames = []string{"sns-signing.us-west-2.amazonaws.com", snsHost}
		}))},

		"nothing above it can be had":         {file: pemOf(above.signer(nil)), reason: denial.NoCertificate, fetched: 1, found: "couldn't fetch"},
		"another certificate is there":        {file: pemOf(above.signer(nil)), issuers: map[string]string{issuerURL: string(other.cert.Raw)}, reason: denial.NoCertificate, fetched: 1, found: "isn't its issuer"},
		"a page of a proxy is there":          {file: pemOf(above.signer(nil)), issuers: map[string]string{issuerURL: "<html>"}, reason: denial.NoCertificate, fetched: 1},
		"a redirect is there":                 {file: pemOf(above.signer(nil)), issuers: map[string]string{issuerURL: "moved"}, reason: denial.NoCertificate, fetched: 1},
		"it says nothing of the one above":    {file: pemOf(above.signer(at())), reason: denial.NoCertificate, found: "allowed host"},
		"another host has the one above it":   {file: pemOf(above.signer(at("http://evil.example.com/r2m01.cer"))), reason: denial.NoCertificate},
		"a name that only ends alike":         {file: pemOf(above.signer(at("http://crt.r2m01.amazontrust.com.example.com/r2m01.cer"))), reason: denial.NoCertificate},
		"another port":                        {file: pemOf(above.signer(at("http://" + issuerHost + ":8080/r2m01.cer"))), reason: denial.NoCertificate},
		"another scheme":                      {file: pemOf(above.signer(at("ldap://" + issuerHost + "/r2m01.cer"))), reason: denial.NoCertificate},
		"no certificate":                      {file: "hello", reason: denial.NoCertificate, found: "its URL returned no certificate"},
		"a file that is too long":             {file: strings.Repeat(" ", 70<<10) + pemOf(root.signer(nil)), reason: denial.NoCertificate},
		"another name":                        {file: pemOf(root.signer(func(c *x509.Certificate) { c.DNSNames = []string{"sns.example.com"} })), reason: denial.WrongCertificate, found: "another name"},
		"a wildcard":                          {file: pemOf(root.signer(func(c *x509.Certificate) { c.DNSNames = []string{"*.amazonaws.com"} })), reason: denial.WrongCertificate},
		"the name of another region":          {file: pemOf(root.signer(func(c *x509.Certificate) { c.DNSNames = []string{"sns-signing.eu-west-1.amazonaws.com"} })), reason: denial.WrongCertificate},
		"a name that stands only in its CN":   {file: pemOf(root.signer(func(c *x509.Certificate) { c.DNSNames = nil })), reason: denial.WrongCertificate},
		"expired":                             {file: pemOf(root.signer(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })), reason: denial.WrongCertificate, found: "expired"},
		"not valid yet":                       {file: pemOf(root.signer(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })), reason: denial.WrongCertificate},
		"self-signed":                         {file: pemOf(selfSigned), reason: denial.WrongCertificate, found: "chain to a root"},
		"another authority":                   {file: pemOf(other.signer(nil), other.cert), reason: denial.WrongCertificate, found: "chain to a root"},
		"another authority, which is fetched": {file: pemOf(other.signer(nil)), issuers: map[string]string{issuerURL: string(other.cert.Raw)}, reason: denial.WrongCertificate, fetched: 1},
		"above it an expired one":             {file: pemOf(short.signer(nil), short.cert), reason: denial.WrongCertificate},
		"an authority's":                      {file: pemOf(root.signer(func(c *x509.Certificate) { c.IsCA = true })), reason: denial.WrongCertificate},
		"not for signing":                     {file: pemOf(root.signer(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment })), reason: denial.WrongCertificate},
		"not RSA":                             {file: pemOf(root.issue(signerTemplate(), &ec.PublicKey)), reason: denial.WrongCertificate},
		"signed by an ordinary certificate":   {file: pemOf(forgedUnder(t, root)...), reason: denial.NoCertificate, fetched: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newCertificateHost(t)
			for url, text := range c.issuers {
				h.putIssuer(url, []byte(text))
			}
			key, err := h.fresh(root).Key(h.put("/valid.pem", c.file))
			require.Equal(t, c.fetched, h.askedIssuers.Load())
			if c.reason == "" {
				require.NoError(t, err)
				require.True(t, key.Equal(&signerKey().PublicKey))
				return
			}
			require.Error(t, err)
			require.Nil(t, key)
			require.Equal(t, c.reason, denial.ReasonOf(err), err)
			var denied *denial.Error
			require.ErrorAs(t, err, &denied)
			require.Contains(t, denied.Detail(), c.found)
			require.NotContains(t, denied.Detail(), "amazon", "it names no address")
		})
	}
}

// forgedUnder is a certificate that the owner of an ordinary one, for another name, has signed with it.
func forgedUnder(t *testing.T, root *authority) []*x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := signerTemplate()
	template.DNSNames, template.Subject = []string{"shop.example.com"}, pkix.Name{CommonName: "shop.example.com"}
	ordinary := &authority{t, key, root.issue(template, &key.PublicKey)}
	return []*x509.Certificate{ordinary.signer(nil), ordinary.cert}
}

// The host of a sender shows the certificates above its own for TLS, and often they are those above the sender's, too: then nothing
// is fetched by HTTP.
func TestTheHostMayShowTheChain(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	at := h.put("/valid.pem", pemOf(h.above.signer(nil)))
	key, err := h.fresh().Key(at)
	require.NoError(t, err)
	require.True(t, key.Equal(&signerKey().PublicKey))
	require.Zero(t, h.askedIssuers.Load())
}

// Certificates are fetched within bounds:
//   - one is fetched once, and its key believed until it runs out; what could not be fetched is not asked for again at once
//   - strangers who name others can have us fetch a few, and no more
//   - no private address is reached, nor one behind a redirect
func TestCertificatesAreFetchedWithinBounds(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	valid := h.put("/valid.pem", pemOf(h.root.signer(nil)))

	c := h.fresh()
	for range 3 {
		_, err := c.Key(valid)
		require.NoError(t, err)
	}
	require.Equal(t, int64(1), h.asked.Load())
	otherNames := valid
	otherNames.Names = []string{"another.example.com"}
	_, err := c.Key(otherNames)
	require.Equal(t, denial.WrongCertificate, denial.ReasonOf(err), "what is kept was verified for other names")
	c.now = func() time.Time { return time.Now().Add(49 * time.Hour) }
	_, err = c.Key(valid)
	require.Equal(t, denial.WrongCertificate, denial.ReasonOf(err), "it has run out")

	for _, path := range []string{"/moved.pem", "/nothing.pem"} {
		c := h.fresh()
		before := h.asked.Load()
		at := valid
		at.URL = "https://" + snsHost + path
		for range 2 {
			_, err := c.Key(at)
			require.Equal(t, denial.NoCertificate, denial.ReasonOf(err), path)
		}
		require.Equal(t, before+1, h.asked.Load(), "%s: once a minute", path)
	}

	c, before, at := h.fresh(), h.asked.Load(), valid
	for i := range 100 {
		at.URL = "https://" + snsHost + "/" + strconv.Itoa(i) + ".pem"
		_, err := c.Key(at)
		require.Equal(t, denial.NoCertificate, denial.ReasonOf(err))
	}
	require.Equal(t, before+certificatesAtOnce, h.asked.Load())
	require.LessOrEqual(t, len(c.kept), maxCertificates)

	c = h.fresh()
	_, err = c.Key(valid)
	require.NoError(t, err)
	c.now = func() time.Time { return time.Now().Add(25 * time.Hour) } // beyond what is believed without another look
	for i := range 200 {
		at.URL = "https://" + snsHost + "/other" + strconv.Itoa(i) + ".pem"
		_, _ = c.Key(at)
	}
	before = h.asked.Load()
	_, err = c.Key(valid)
	require.NoError(t, err, "a URL that has been good needs nothing of what strangers use up")
	require.Equal(t, before+1, h.asked.Load())

	before = h.asked.Load()
	_, err = h.client(h.root.pool()).Key(valid)
	require.Equal(t, denial.NoCertificate, denial.ReasonOf(err))
	require.Equal(t, before, h.asked.Load(), "loopback is no public address")
	alone := h.put("/alone.pem", pemOf(h.root.under(nil).signer(nil)))
	_, err = h.client(h.root.pool(), "127.0.0.1/32").Key(alone)
	require.Equal(t, denial.NoCertificate, denial.ReasonOf(err))
	require.Zero(t, h.askedIssuers.Load(), "nor do the hosts of issuers lead to one")
}

// A certificate that was verified stays good while it is valid and its host can't be reached, so that an outage at the sender
// loses no event. One that is wrong by now doesn't.
func TestAVerifiedCertificateOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	h := newCertificateHost(t)
	valid := h.put("/valid.pem", pemOf(h.root.signer(nil)))
	c := h.fresh()
	first, err := c.Key(valid)
	require.NoError(t, err)

	later := 25 * time.Hour
	c.now = func() time.Time { return time.Now().Add(later) }
	h.down.Store(true)
	for range 2 {
		got, err := c.Key(valid)
		require.NoError(t, err)
		require.True(t, got.Equal(first))
	}
	require.Equal(t, int64(2), h.asked.Load(), "it is looked for once a minute")

	h.down.Store(false)
	h.put("/valid.pem", pemOf(newAuthority(t).signer(func(c *x509.Certificate) { c.DNSNames = []string{"sns.example.com"} })))
	later += 2 * time.Minute
	_, err = c.Key(valid)
	require.Equal(t, denial.WrongCertificate, denial.ReasonOf(err))

	h.put("/valid.pem", pemOf(h.root.signer(nil)))
	later += 2 * time.Minute
	_, err = c.Key(valid)
	require.NoError(t, err)
	h.down.Store(true)
	later = 49 * time.Hour
	_, err = c.Key(valid)
	require.Equal(t, denial.NoCertificate, denial.ReasonOf(err), "it has expired")
}
