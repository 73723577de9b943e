package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Root issues chains for trials of a definition.
type Root struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// trialLife is how long the certificates of a trial are valid, from the year 2000: a trial may be about a recorded time.
const trialLife = 100 * 365 * 24 * time.Hour

var trialStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// NewRoot returns a root that nothing else trusts.
func NewRoot() (*Root, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(1, "Trial root", true, "")
	if err != nil {
		return nil, err
	}
	certificate, err := issue(template, template, key.Public(), key)
	return &Root{certificate, key}, err
}

// Issue returns a chain for a signer's key as it is in a token's header: the signer, its issuer and the root, with the extensions
// that they must have.
func (r *Root) Issue(signer crypto.PublicKey, s Trust) (chain []string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	above, err := newTemplate(2, "Trial issuer", true, s.Issuer)
	if err != nil {
		return nil, err
	}
	issuer, err := issue(above, r.Certificate, key.Public(), r.key)
	if err != nil {
		return nil, err
	}
	below, err := newTemplate(3, "Trial signer", false, s.Leaf)
	if err != nil {
		return nil, err
	}
	leaf, err := issue(below, issuer, signer, key)
	if err != nil {
		return nil, err
	}
	for _, one := range []*x509.Certificate{leaf, issuer, r.Certificate} {
		chain = append(chain, base64.StdEncoding.EncodeToString(one.Raw))
	}
	return chain, nil
}

func newTemplate(number int64, name string, isCA bool, mark string) (*x509.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: name},
		NotBefore: trialStart, NotAfter: trialStart.Add(trialLife),
		BasicConstraintsValid: true, IsCA: isCA, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if isCA {
		template.KeyUsage = x509.KeyUsageCertSign
	}
	if mark == "" {
		return template, nil
	}
	var oid asn1.ObjectIdentifier
	for text := range strings.SplitSeq(mark, ".") {
		arc, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("parse OID %s: %w", mark, err)
		}
		oid = append(oid, arc)
	}
	template.ExtraExtensions = []pkix.Extension{{Id: oid, Value: asn1.NullBytes}}
	return template, nil
}

func issue(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
