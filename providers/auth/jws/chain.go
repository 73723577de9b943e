package jws

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"time"
)

// maxChain is how many certificates a token may have.
const maxChain = 5

// Trust is what a chain of certificates in a token's header (x5c) must lead to.
type Trust struct {
	Roots []*x509.Certificate
	// Leaf and Issuer are extensions that the signer's certificate and the one that issued it must have, as OIDs in dotted form:
	// a root issues certificates for many purposes. "" for none.
	Leaf, Issuer string
}

// Chain is a verified chain of certificates: the signer's first, a root last.
type Chain []*x509.Certificate

// ParseRoot parses a certificate that may issue others, as a PEM block.
func ParseRoot(text string) (*x509.Certificate, bool) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
		return nil, false
	}
	root, err := x509.ParseCertificate(block.Bytes)
	return root, err == nil && root.IsCA
}

// Chain returns the chain of a token's certificates to a root; ok is false if there is none. Whether they were valid when the
// token was signed is up to the caller (ValidAt): the time is in the payload, which is not verified yet.
func (s Trust) Chain(t Token) (chain Chain, ok bool) {
	given, ok := t.certificates()
	if !ok {
		return nil, false
	}
	for _, root := range s.Roots {
		if chain, ok := s.chainTo(root, given); ok {
			return chain, true
		}
	}
	return nil, false
}

// chainTo verifies the certificates as of the time from which all of them are valid.
func (s Trust) chainTo(root *x509.Certificate, given []*x509.Certificate) (Chain, bool) {
	if !isIssued(root, given) {
		return nil, false
	}
	roots, issuers, start := x509.NewCertPool(), x509.NewCertPool(), root.NotBefore
	roots.AddCert(root)
	for i, one := range given {
		if one.NotBefore.After(start) {
			start = one.NotBefore
		}
		if i > 0 {
			issuers.AddCert(one)
		}
	}
	chains, err := given[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: issuers, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: start,
	})
	if err != nil {
		return nil, false
	}
	i := slices.IndexFunc(chains, s.marks)
	if i < 0 {
		return nil, false
	}
	return chains[i], true
}

// isIssued reports whether each certificate is issued by the next one (RFC 7515, section 4.1.6), and the last by the root. It
// begins at the root, so that no key but those that the root vouches for is used: a stranger's can be of any size, and x509 would
// try each way through certificates that issue each other.
func isIssued(root *x509.Certificate, given []*x509.Certificate) bool {
	above := root
	for i, one := range slices.Backward(given) {
		if i == len(given)-1 && one.Equal(root) {
			continue
		}
		if one.CheckSignatureFrom(above) != nil {
			return false
		}
		above = one
	}
	return true
}

// marks reports whether a chain is for signatures of this kind: an issuer isn't a signer.
func (s Trust) marks(chain []*x509.Certificate) bool {
	leaf := chain[0]
	if leaf.IsCA || leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 || !isMarked(leaf, s.Leaf) {
		return false
	}
	return s.Issuer == "" || len(chain) > 2 && isMarked(chain[1], s.Issuer)
}

func isMarked(c *x509.Certificate, oid string) bool {
	if oid == "" {
		return true
	}
	for _, extension := range c.Extensions {
		if extension.Id.String() == oid {
			return true
		}
	}
	return false
}

// Signer returns the key of the first certificate in the header, which anyone can have made: Trust.Chain says whose it is.
func (t Token) Signer() (crypto.PublicKey, bool) {
	given, ok := t.certificates()
	if !ok {
		return nil, false
	}
	return given[0].PublicKey, true
}

// certificates returns those in the header, the signer's first. They are in base64, not base64url.
func (t Token) certificates() (all []*x509.Certificate, ok bool) {
	var head struct {
		Chain []string `json:"x5c"`
	}
	if json.Unmarshal(t.head, &head) != nil || len(head.Chain) == 0 || len(head.Chain) > maxChain {
		return nil, false
	}
	for _, text := range head.Chain {
		der, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return nil, false
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, false
		}
		all = append(all, certificate)
	}
	return all, true
}

// ValidAt reports whether all certificates were valid at a time, which may be off by the leeway.
func (c Chain) ValidAt(at time.Time, leeway time.Duration) bool {
	return !slices.ContainsFunc(c, func(one *x509.Certificate) bool {
		return at.Add(leeway).Before(one.NotBefore) || at.Add(-leeway).After(one.NotAfter)
	})
}
