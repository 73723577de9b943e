package webhook

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Limits of a chain: certificates read from one file, and missing ones fetched.
const (
	maxChain   = 10
	maxFetched = 3
)

// readCertificates parses PEM, or a single DER certificate, the form in which authorities publish theirs. It skips what it can't
// parse.
func readCertificates(text []byte) (all []*x509.Certificate) {
	if one, err := x509.ParseCertificate(text); err == nil {
		return []*x509.Certificate{one}
	}
	for len(all) < maxChain {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil
		}
		all = append(all, one)
	}
	return all
}

func hasName(leaf *x509.Certificate, names []string) bool {
	return slices.ContainsFunc(leaf.DNSNames, func(has string) bool {
		return slices.ContainsFunc(names, func(want string) bool { return strings.EqualFold(has, want) })
	})
}

// verify builds a chain to a trusted root. Senders often serve only their own certificate. Its issuers are taken from the host's
// TLS handshake or fetched from the URL in the certificate, if that is an allowed issuer. Each is proven by its signature, so its
// source doesn't matter. An incomplete chain proves nothing: it is unavailable, not wrong.
func (c *Certificates) verify(ctx context.Context, leaf *x509.Certificate, above []*x509.Certificate, issuers []string) error {
	for range maxFetched {
		err := c.leads(leaf, above)
		if err == nil || !isUnknownAuthority(err) {
			return wrongChain(err)
		}
		top := topOf(leaf, above)
		if isSelfSigned(top) {
			break
		}
		next, err := c.fetchIssuer(ctx, top, issuers)
		if err != nil {
			return err
		}
		above = append(above, next)
	}
	return wrongChain(c.leads(leaf, above))
}

func (c *Certificates) leads(leaf *x509.Certificate, above []*x509.Certificate) error {
	pool := x509.NewCertPool()
	for _, one := range above {
		pool.AddCert(one)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: c.roots, Intermediates: pool, CurrentTime: c.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

func isUnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

func wrongChain(err error) error {
	if err == nil {
		return nil
	}
	return wrong("the certificate doesn't chain to a root that this machine trusts")
}

// topOf returns the highest known issuer of a certificate.
func topOf(leaf *x509.Certificate, above []*x509.Certificate) *x509.Certificate {
	for range above {
		i := slices.IndexFunc(above, func(one *x509.Certificate) bool {
			return !one.Equal(leaf) && leaf.CheckSignatureFrom(one) == nil
		})
		if i < 0 {
			break
		}
		leaf = above[i]
	}
	return leaf
}

// isSelfSigned also holds for certificates that aren't authorities.
func isSelfSigned(c *x509.Certificate) bool {
	return c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

func (c *Certificates) fetchIssuer(ctx context.Context, of *x509.Certificate, hosts []string) (*x509.Certificate, error) {
	at := slices.IndexFunc(of.IssuingCertificateURL, func(address string) bool { return mayIssue(address, hosts) })
	if at < 0 {
		return nil, unavailable("its issuer is unknown and isn't at an allowed host")
	}
	text, _, err := c.get(ctx, of.IssuingCertificateURL[at])
	if err != nil {
		return nil, unavailable("couldn't fetch its issuer: " + err.Error())
	}
	for _, one := range readCertificates(text) {
		if of.CheckSignatureFrom(one) == nil {
			return one, nil
		}
	}
	return nil, unavailable("the fetched certificate isn't its issuer")
}

// mayIssue accepts only a plain URL without a port at one of the hosts: anyone who creates a certificate can put any URL into it.
func mayIssue(address string, hosts []string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Host != u.Hostname() {
		return false
	}
	return slices.ContainsFunc(hosts, func(pattern string) bool {
		want, got := strings.Split(pattern, "."), strings.Split(strings.ToLower(u.Host), ".")
		return len(want) == len(got) && labelsFit(want, got)
	})
}

// labelsFit compares labels of names of equal length; * matches any label.
func labelsFit(want, got []string) bool {
	for i := range want {
		if want[i] != got[i] && (want[i] != "*" || got[i] == "") {
			return false
		}
	}
	return true
}
