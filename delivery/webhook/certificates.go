package webhook

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// The bounds of what strangers can have us fetch. They may name any certificate at an allowed host: a cache that is full forgets
// misses first, and a URL that is new costs one of a few fetches a minute. A URL that has had a certificate is fetched at most once
// a minute, whatever strangers have used up.
const (
	maxCertificates     = 64
	maxCertificateBytes = 64 << 10
	certificateTimeout  = 4 * time.Second
	certificateLife     = 24 * time.Hour
	certificateMissLife = time.Minute
	certificatesAtOnce  = 10
	certificatesEach    = 6 * time.Second
)

// Certificates fetches the certificates with which senders sign, and keeps them. It reaches public addresses only, by HTTPS,
// follows no redirect, and is safe for concurrent use. Which hosts are allowed is the caller's to say.
type Certificates struct {
	http   *http.Client
	roots  *x509.CertPool // nil for those of the machine
	budget *rate.Limiter
	now    func() time.Time
	once   singleflight.Group

	mu   sync.Mutex
	kept map[string]keptCertificate
}

// keptCertificate is what came of a fetch.
type keptCertificate struct {
	key   *rsa.PublicKey // nil if nothing usable did
	until time.Time
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

var (
	errNoCertificate = errors.New("the certificate could not be fetched, or is none that is valid now")
	errTooMany       = errors.New("too many certificates were asked for")
)

// Key is that of the certificate at a URL.
func (c *Certificates) Key(url string) (*rsa.PublicKey, error) {
	if found, ok := c.lookup(url); ok {
		return keyOrError(found.key)
	}
	found, err, _ := c.once.Do(url, func() (any, error) {
		if found, ok := c.lookup(url); ok { // somebody has just been there
			return found.key, nil
		}
		before, _ := c.lookup(url)
		if !before.wasGood && !c.budget.AllowN(c.now(), 1) {
			return nil, errTooMany
		}
		key, until, err := c.fetch(url)
		if err != nil {
			key, until = nil, c.now().Add(certificateMissLife)
		}
		c.keep(url, keptCertificate{key, until, before.wasGood || key != nil})
		return key, nil
	})
	if err != nil {
		return nil, err
	}
	return keyOrError(found.(*rsa.PublicKey))
}

func keyOrError(key *rsa.PublicKey) (*rsa.PublicKey, error) {
	if key == nil {
		return nil, errNoCertificate
	}
	return key, nil
}

func (c *Certificates) lookup(url string) (keptCertificate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.kept[url]
	return found, ok && c.now().Before(found.until)
}

// keep makes room by forgetting URLs that never had a certificate, then any.
func (c *Certificates) keep(url string, found keptCertificate) {
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
	c.kept[url] = found
}

// fetch gives the key, and until when it may be believed without another look.
func (c *Certificates) fetch(url string) (*rsa.PublicKey, time.Time, error) {
	ctx, cancel := context.WithTimeout(context.Background(), certificateTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, time.Time{}, errNoCertificate
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, time.Time{}, failure(err)
	}
	defer func() { _ = response.Body.Close() }() // all of it has been read, or none of it matters
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCertificateBytes))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, time.Time{}, errNoCertificate
	}
	return c.read(text)
}

// read takes the first certificate of a PEM file, which must be valid now. TLS has proven whose file it is; where the file holds
// those above it as well, they must lead to a root.
func (c *Certificates) read(text []byte) (*rsa.PublicKey, time.Time, error) {
	var chain []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("read certificate: %w", err)
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return nil, time.Time{}, errNoCertificate
	}
	leaf, now := chain[0], c.now()
	key, isRSA := leaf.PublicKey.(*rsa.PublicKey)
	if !isRSA || now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return nil, time.Time{}, errNoCertificate
	}
	if err := c.verify(chain); err != nil {
		return nil, time.Time{}, err
	}
	until := now.Add(certificateLife)
	if leaf.NotAfter.Before(until) {
		until = leaf.NotAfter
	}
	return key, until, nil
}

func (c *Certificates) verify(chain []*x509.Certificate) error {
	if len(chain) == 1 {
		return nil
	}
	above := x509.NewCertPool()
	for _, one := range chain[1:] {
		above.AddCert(one)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: c.roots, Intermediates: above, CurrentTime: c.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return fmt.Errorf("verify certificate: %w", err)
	}
	return nil
}
