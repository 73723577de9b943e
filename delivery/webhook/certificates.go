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

	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// The bounds of what strangers can have us fetch. They may name any certificate at an allowed host: a cache that is full forgets
// misses first, and a URL that is new costs one of a few fetches a minute. A URL that has had a certificate is fetched at most
// once a minute, whatever strangers have used up.
const (
	maxCertificates     = 64
	maxCertificateBytes = 64 << 10
	certificateTimeout  = 4 * time.Second
	certificateLife     = 24 * time.Hour
	certificateMissLife = time.Minute
	certificatesAtOnce  = 10
	certificatesEach    = 6 * time.Second
)

// Certificates fetches the certificates with which senders sign, verifies them and keeps their keys. It reaches public addresses
// only, follows no redirect, and is safe for concurrent use. Which hosts are allowed is the caller's to say.
type Certificates struct {
	http   *http.Client
	roots  *x509.CertPool // nil for those of the machine
	budget *rate.Limiter
	now    func() time.Time
	once   singleflight.Group

	mu   sync.Mutex
	kept map[string]keptCertificate
}

// keptCertificate is the result of a fetch: a key, or why there is none.
type keptCertificate struct {
	key *rsa.PublicKey
	err error
	// until is when it is fetched again, and ends when the certificate does.
	until, ends time.Time
	// wasGood says that the URL has had a certificate, now or before.
	wasGood bool
}

// NewCertificates makes one that has none yet.
func NewCertificates() *Certificates { return newCertificates(newHTTP(newDialer(guard{}), nil), nil) }

func newCertificates(client *http.Client, roots *x509.CertPool) *Certificates {
	return &Certificates{
		http: client, roots: roots, budget: rate.NewLimiter(rate.Every(certificatesEach), certificatesAtOnce), now: time.Now,
		kept: map[string]keptCertificate{},
	}
}

// unavailable says that it couldn't be found out whether a certificate is the sender's: the sender should try again.
func unavailable(found string) error {
	return &denial.Error{Reason: denial.NoCertificate, Found: found}
}

// wrong says that a certificate isn't the sender's.
func wrong(found string) error {
	return &denial.Error{Reason: denial.WrongCertificate, Found: found}
}

// Key is that of a certificate whose chain, name and validity have been verified. The error is a *denial.Error.
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
			return nil, unavailable("too many new certificates were asked for")
		}
		found := c.renew(at, before)
		c.keep(id, found)
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(keptCertificate).key, found.(keptCertificate).err
}

// renew fetches a certificate. One that was verified before stays good while it is valid and its host can't be reached.
func (c *Certificates) renew(at auth.CertificateAt, before keptCertificate) keptCertificate {
	now := c.now()
	found := keptCertificate{until: now.Add(certificateMissLife), wasGood: before.wasGood}
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

// lookup gives what is kept, and whether it needs no other look.
func (c *Certificates) lookup(id string) (keptCertificate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[id]
	return found, ok && c.now().Before(found.until)
}

// keep makes room by forgetting URLs that never had a certificate, then any.
func (c *Certificates) keep(id string, found keptCertificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, goes := range []func(keptCertificate) bool{
		func(k keptCertificate) bool { return !k.wasGood },
		func(keptCertificate) bool { return true },
	} {
		for other, k := range c.kept {
			if len(c.kept) >= maxCertificates && goes(k) {
				delete(c.kept, other)
			}
		}
	}
	c.kept[id] = found
}

// fetch gives a certificate that has been verified. The time limit holds for all that is fetched for it.
func (c *Certificates) fetch(at auth.CertificateAt) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(context.Background(), certificateTimeout)
	defer cancel()
	text, shown, err := c.get(ctx, at.URL)
	if err != nil {
		return nil, unavailable("it could not be fetched: " + err.Error())
	}
	chain := readCertificates(text)
	if len(chain) == 0 {
		return nil, unavailable("there is no certificate at its URL")
	}
	leaf := chain[0]
	if err := c.checkLeaf(leaf, at.Names); err != nil {
		return nil, err
	}
	return leaf, c.verify(ctx, leaf, append(chain[1:], shown...), at.Issuers)
}

// get gives a file, and the certificates that its host has shown.
func (c *Certificates) get(ctx context.Context, url string) (text []byte, shown []*x509.Certificate, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, nil, &Error{Code: codeAddress, Reason: "its address can't be used"}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, failure(err)
	}
	defer func() { _ = response.Body.Close() }() // all of it has been read, or none of it matters
	text, err = io.ReadAll(io.LimitReader(response.Body, maxCertificateBytes+1))
	if err != nil {
		return nil, nil, failure(err)
	}
	if response.StatusCode != http.StatusOK || len(text) > maxCertificateBytes {
		return nil, nil, &Error{Code: codeAnswer, Reason: "the answer is no file of at most 64 KiB"}
	}
	if response.TLS != nil {
		shown = response.TLS.PeerCertificates
	}
	return text, shown, nil
}

// checkLeaf takes a certificate that is valid now, has one of the names and may sign.
func (c *Certificates) checkLeaf(leaf *x509.Certificate, names []string) error {
	_, isRSA := leaf.PublicKey.(*rsa.PublicKey)
	now := c.now()
	switch {
	case now.Before(leaf.NotBefore):
		return wrong("the certificate isn't valid yet")
	case now.After(leaf.NotAfter):
		return wrong("the certificate has expired")
	case !hasName(leaf, names):
		return wrong("the certificate has another name")
	case !isRSA:
		return wrong("its key isn't one of RSA")
	case leaf.IsCA, leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return wrong("the certificate isn't one for signing messages")
	}
	return nil
}
