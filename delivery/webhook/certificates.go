package webhook

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"holdfast/internal/proxy"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// Limits on what unauthenticated senders can make Holdfast fetch. They may name any certificate at an allowed host. Therefore a
// full cache evicts misses first, and only a few new URLs are fetched each minute. A URL that once had a certificate doesn't
// count against that limit and is fetched at most once a minute.
const (
	maxCertificates     = 64
	maxCertificateBytes = 64 << 10
	certificateTimeout  = 4 * time.Second
	certificateLife     = 24 * time.Hour
	certificateMissLife = time.Minute
	certificatesAtOnce  = 10
	certificatesEach    = 6 * time.Second
)

// Certificates fetches and verifies the certificates with which senders sign, and caches their keys. It reaches only public
// addresses, follows no redirects, and is safe for concurrent use. The caller decides which hosts are allowed.
type Certificates struct {
	http   *http.Client
	roots  *x509.CertPool // nil means the system roots
	budget *rate.Limiter
	now    func() time.Time
	once   singleflight.Group

	mu   sync.Mutex
	kept map[string]cachedCertificate
}

// cachedCertificate is the result of a fetch: a key or an error.
type cachedCertificate struct {
	key *rsa.PublicKey
	err error
	// until is when the entry expires, ends when the certificate does.
	until, ends time.Time
	// wasGood: the URL has had a valid certificate, now or before.
	wasGood bool
}

// NewCertificates returns an empty cache. Requests go through a proxy unless it is nil.
func NewCertificates(via *proxy.Proxy) *Certificates {
	return newCertificates(newHTTP(through(newDialer(guard{}), via), nil), nil)
}

func newCertificates(client *http.Client, roots *x509.CertPool) *Certificates {
	return &Certificates{
		http: client, roots: roots, budget: rate.NewLimiter(rate.Every(certificatesEach), certificatesAtOnce), now: time.Now,
		kept: map[string]cachedCertificate{},
	}
}

// unavailable is the error of a certificate that couldn't be checked: the sender should retry.
func unavailable(found string) error {
	return &denial.Error{Reason: denial.NoCertificate, Found: found}
}

// wrong is the error of a certificate that isn't the sender's.
func wrong(found string) error {
	return &denial.Error{Reason: denial.WrongCertificate, Found: found}
}

// Key returns the key of a certificate whose chain, name and validity are verified. The error is a *denial.Error.
func (c *Certificates) Key(at auth.CertificateAt) (*rsa.PublicKey, error) {
	id := strings.Join(append([]string{at.URL}, at.Names...), " ")
	if found, ok := c.lookup(id); ok {
		return found.key, found.err
	}
	found, err, _ := c.once.Do(id, func() (any, error) {
		before, ok := c.lookup(id)
		if ok { // another request has just fetched it
			return before, nil
		}
		if !before.wasGood && !c.budget.AllowN(c.now(), 1) {
			return nil, unavailable("too many requests with new certificate URLs")
		}
		found := c.renew(at, before)
		c.keep(id, found)
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(cachedCertificate).key, found.(cachedCertificate).err
}

// renew fetches a certificate. If its host is unreachable, a cached certificate is used until it expires.
func (c *Certificates) renew(at auth.CertificateAt, before cachedCertificate) cachedCertificate {
	now := c.now()
	found := cachedCertificate{until: now.Add(certificateMissLife), wasGood: before.wasGood}
	leaf, err := c.fetch(at)
	switch {
	case err == nil:
		found.key, _ = leaf.PublicKey.(*rsa.PublicKey)
		found.ends, found.wasGood = leaf.NotAfter, true
		found.until = now.Add(min(certificateLife, leaf.NotAfter.Sub(now)))
	case denial.ReasonOf(err) == denial.NoCertificate && before.key != nil && now.Before(before.ends):
		found.key, found.ends = before.key, before.ends
		found.until = now.Add(min(certificateMissLife, before.ends.Sub(now)))
	default:
		found.err = err
	}
	return found
}

// lookup returns the cache entry and whether it is still fresh.
func (c *Certificates) lookup(id string) (cachedCertificate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[id]
	return found, ok && c.now().Before(found.until)
}

// keep adds an entry. A full cache first evicts URLs that never had a certificate, then any.
func (c *Certificates) keep(id string, found cachedCertificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, goes := range []func(cachedCertificate) bool{
		func(k cachedCertificate) bool { return !k.wasGood },
		func(cachedCertificate) bool { return true },
	} {
		for other, k := range c.kept {
			if len(c.kept) >= maxCertificates && goes(k) {
				delete(c.kept, other)
			}
		}
	}
	c.kept[id] = found
}

// fetch returns a verified certificate. certificateTimeout bounds all requests together.
func (c *Certificates) fetch(at auth.CertificateAt) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(context.Background(), certificateTimeout)
	defer cancel()
	text, shown, err := c.get(ctx, at.URL)
	if err != nil {
		return nil, unavailable("couldn't fetch it: " + err.Error())
	}
	chain := readCertificates(text)
	if len(chain) == 0 {
		return nil, unavailable("its URL returned no certificate")
	}
	leaf := chain[0]
	if err := c.checkLeaf(leaf, at.Names); err != nil {
		return nil, err
	}
	return leaf, c.verify(ctx, leaf, append(chain[1:], shown...), at.Issuers)
}

// get returns a file, and the certificates that its host presented.
func (c *Certificates) get(ctx context.Context, url string) (text []byte, shown []*x509.Certificate, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, nil, &Error{Code: codeAddress, Reason: "its URL is malformed"}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, failure(err)
	}
	defer func() { _ = response.Body.Close() }() // nothing more to read
	text, err = io.ReadAll(io.LimitReader(response.Body, maxCertificateBytes+1))
	if err != nil {
		return nil, nil, failure(err)
	}
	if response.StatusCode != http.StatusOK || len(text) > maxCertificateBytes {
		return nil, nil, &Error{Code: codeAnswer, Reason: "the response isn't a file of at most 64 KiB"}
	}
	if response.TLS != nil {
		shown = response.TLS.PeerCertificates
	}
	return text, shown, nil
}

// checkLeaf checks validity, name, key type and usage.
func (c *Certificates) checkLeaf(leaf *x509.Certificate, names []string) error {
	_, isRSA := leaf.PublicKey.(*rsa.PublicKey)
	now := c.now()
	switch {
	case now.Before(leaf.NotBefore):
		return wrong("the certificate isn't valid yet")
	case now.After(leaf.NotAfter):
		return wrong("the certificate has expired")
	case !hasName(leaf, names):
		return wrong("the certificate is for another name")
	case !isRSA:
		return wrong("its key isn't an RSA key")
	case leaf.IsCA, leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return wrong("the certificate isn't allowed to sign messages")
	}
	return nil
}
