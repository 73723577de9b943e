package auth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // Amazon SNS signs with SHA-1 unless a topic is configured otherwise.
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// CertificateAt names a sender's certificate and the conditions that it must meet.
type CertificateAt struct {
	// URL is its location; the definition has checked host and path.
	URL string
	// Names are DNS names. The certificate must have one of them.
	Names []string
	// Issuers are the hosts from which issuer certificates may be fetched; a * is one label.
	Issuers []string
}

// Certificates returns the key of a certificate after verifying its chain, name and validity. It limits the rate and time of
// its fetches, since anyone can name a certificate, and must be safe for concurrent use. The error is a *denial.Error:
// denial.WrongCertificate if the certificate can't be the sender's, denial.NoCertificate if that couldn't be determined.
type Certificates func(CertificateAt) (*rsa.PublicKey, error)

// certificateScheme verifies an RSA signature with the key of a certificate that the request names. The sender signs for all
// its customers, so the secret identifies ours: it is part of the signed content, or a value of the request.
type certificateScheme struct {
	signed
	url, account definition.Where
	hosts        []string
	path         string
	names        []string
	issuers      []string
	hash         crypto.Hash
	newHash      func() hash.Hash
}

func newCertificate(p *definition.Problems, field string, d *definition.Certificate) scheme {
	s := &certificateScheme{
		signed: newSigned(p, field, d.Signing), url: d.URL, account: d.Account, hosts: d.Hosts, path: d.Path,
		names: d.Names, issuers: d.Issuers,
	}
	s.hash, s.newHash = crypto.SHA256, sha256.New
	if p.OneOf(field+".algorithm", d.Algorithm, "sha256", "sha1") == "sha1" {
		s.hash, s.newHash = crypto.SHA1, sha1.New
	}
	checkPlace(p, field+".url", d.URL)
	if d.Account != (definition.Where{}) {
		checkPlace(p, field+".account", d.Account)
	}
	if (d.Account != (definition.Where{})) == s.content.has("secret") {
		p.Add(field+".account", "must be given if, and only if, {secret} is not signed: the sender signs for all of its customers")
	}
	if len(d.Hosts) == 0 || slices.ContainsFunc(d.Hosts, func(h string) bool { return strings.Count(h, ".") < 2 }) {
		p.Add(field+".hosts", "want names such as sns.*.amazonaws.com, whose * is a region: the certificate must come from nowhere "+
			"else")
	}
	if !strings.HasPrefix(d.Path, "/") {
		p.Add(field+".path", "want a pattern that begins with /")
	}
	s.checkNames(p, field)
	return s
}

func (s *certificateScheme) checkNames(p *definition.Problems, field string) {
	if len(s.names) == 0 {
		p.Add(field+".names", "must be given: the DNS names on the sender's certificate, of which it must have one")
	}
	isOfRegion := func(name string) bool { return strings.Contains(name, "*") }
	if slices.ContainsFunc(s.names, isOfRegion) && !slices.ContainsFunc(s.hosts, isOfRegion) {
		p.Add(field+".names", "a * stands for the region in the host, and no host has one")
	}
	if slices.ContainsFunc(s.issuers, func(h string) bool { return strings.Count(h, ".") < 2 }) {
		p.Add(field+".issuers", "want names of hosts such as crt.*.amazontrust.com")
	}
}

func checkPlace(p *definition.Problems, field string, d definition.Where) {
	if (d.Header == "") == (d.Body == "") {
		p.Add(field, "want either header or body")
	}
	if d.Header != "" {
		p.HeaderName(field+".header", d.Header)
	}
}

// valueAt returns the value at a place of the request, and the name of the place.
func valueAt(r *Request, at definition.Where) (value, part string, err error) {
	if at.Header != "" {
		value, err = r.header(at.Header)
		return value, partOf(at.Header), err
	}
	places, err := placesOf(r, at.Body)
	return places[at.Body].Text, partOfBody(at.Body), err
}

func (s *certificateScheme) ready(k keyring) error {
	_, err := k.usable(s.secretsName)
	return err
}

// authenticate checks everything that needs no certificate before it fetches one.
func (s *certificateScheme) authenticate(k keyring, r *Request, now time.Time) error {
	secrets, err := k.usable(s.secretsName)
	if err != nil {
		return err
	}
	o, err := s.read(r)
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(o.signatures[0])
	if err != nil || len(signature) < minRSABits/8 {
		return denial.At(denial.MalformedSignature, s.header.part())
	}
	if err := s.time.check(o.at, now); err != nil {
		return err
	}
	if err := s.checkAccount(r, secrets); err != nil {
		return err
	}
	key, err := s.key(k, r)
	if err != nil {
		return err
	}
	return s.result(o, s.matches(key, secrets, signature, o), now)
}

func (s *certificateScheme) checkAccount(r *Request, secrets []string) error {
	if s.account == (definition.Where{}) {
		return nil
	}
	value, part, err := valueAt(r, s.account)
	if err == nil && !slices.Contains(secrets, value) {
		err = denial.At(denial.OtherAccount, part)
	}
	return err
}

// key returns the key of the certificate that the request names, if the definition allows it.
func (s *certificateScheme) key(k keyring, r *Request) (*rsa.PublicKey, error) {
	address, part, err := valueAt(r, s.url)
	if err != nil {
		return nil, err
	}
	host, ok := s.allows(address)
	if !ok {
		return nil, denial.At(denial.ForeignCertificate, part)
	}
	if k.certificates == nil {
		return nil, denial.At(denial.NoCertificate, part)
	}
	key, err := k.certificates(CertificateAt{URL: address, Names: s.namesAt(host), Issuers: s.issuers})
	if err != nil {
		return nil, asDenial(err, denial.NoCertificate, part)
	}
	if key.N.BitLen() < minRSABits {
		return nil, &denial.Error{Reason: denial.WrongCertificate, Part: part, Found: "its key is too short"}
	}
	return key, nil
}

// asDenial adds the checked part of the request. An error without a reason means that nothing could be checked.
func asDenial(err error, unavailable denial.Reason, part string) error {
	e := &denial.Error{Reason: unavailable}
	var given *denial.Error
	if errors.As(err, &given) {
		*e = *given
	}
	e.Part = part
	return e
}

// namesAt returns the names that a certificate from a host may have: a * is the region of the host.
func (s *certificateScheme) namesAt(host string) []string {
	region, names := "", make([]string, 0, len(s.names))
	for _, pattern := range s.hosts {
		if hostFits(pattern, host) {
			region = regionIn(pattern, host)
		}
	}
	for _, name := range s.names {
		if region != "" || !strings.Contains(name, "*") {
			names = append(names, strings.ReplaceAll(name, "*", region))
		}
	}
	return names
}

func regionIn(pattern, host string) string {
	labels := strings.Split(host, ".")
	if at := slices.Index(strings.Split(pattern, "."), "*"); at >= 0 {
		return labels[at]
	}
	return ""
}

// maxCertificateURL is in bytes.
const maxCertificateURL = 512

// allows accepts only https, one of the hosts and a path that matches the pattern. It returns the host.
func (s *certificateScheme) allows(address string) (host string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxCertificateURL || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" || u.Host != u.Hostname() || u.EscapedPath() != u.Path || strings.Contains(u.Path, "..") {
		return "", false
	}
	return u.Host, slices.ContainsFunc(s.hosts, func(pattern string) bool { return hostFits(pattern, u.Host) }) &&
		definition.NewGlob(s.path).Match(u.Path) && strings.Count(s.path, "/") == strings.Count(u.Path, "/")
}

// isRegion matches us-east-1 and us-gov-west-1. Other labels could belong to a third party: sns.s3.amazonaws.com and
// sns.s3-us-west-2.amazonaws.com are a bucket named sns.
var isRegion = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}$`).MatchString

// hostFits compares label by label; a * matches one label that is an AWS region.
func hostFits(pattern, host string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (want[i] != "*" || !isRegion(got[i])) {
			return false
		}
	}
	return true
}

func (s *certificateScheme) matches(key *rsa.PublicKey, secrets []string, signature []byte, o offer) bool {
	for _, secret := range secrets {
		o.parts.secret = secret
		if rsa.VerifyPKCS1v15(key, s.hash, s.content.sum(s.newHash(), o.parts), signature) == nil {
			return true
		}
		if !s.content.has("secret") {
			return false
		}
	}
	return false
}

// sign uses a key of this process, because only the sender has its key: the result is authentic only with TrialCertificates.
// The account becomes the secret.
func (s *certificateScheme) sign(r *Request, secrets []string, now time.Time) error {
	switch {
	case s.account.Body != "":
		if err := r.setBody(s.account.Body, secrets[0]); err != nil {
			return err
		}
	case s.account.Header != "":
		r.SetHeader(s.account.Header, secrets[0])
	}
	v, err := s.prepare(r, now)
	if err != nil {
		return err
	}
	v.secret = secrets[0]
	signature, err := rsa.SignPKCS1v15(rand.Reader, trialRSA(), s.hash, s.content.sum(s.newHash(), v))
	if err != nil {
		return denial.Of(denial.NoCertificate)
	}
	return s.header.put(r, v.timestamp, []string{base64.StdEncoding.EncodeToString(signature)})
}

func (s *certificateScheme) name() string { return "RSA by certificate in " + s.header.where() }

// proxiedScheme accepts a client certificate that a proxy has verified. The proxy ends TLS, so its header is all that is known of
// the certificate.
type proxiedScheme struct {
	tokenScheme
}

func newProxied(p *definition.Problems, field string, d *definition.Proxied) scheme {
	p.SecretName(field+".secrets", d.Secrets)
	return &proxiedScheme{tokenScheme{secretsName: d.Secrets, in: "header", field: p.HeaderName(field+".header", d.Header)}}
}

func (s *proxiedScheme) authenticate(k keyring, r *Request, _ time.Time) error {
	accepted, err := k.values(s.secretsName)
	if err != nil {
		return err
	}
	shown, err := r.header(s.field)
	switch {
	case err != nil:
		return err
	case shown == "" || !r.FromProxy:
		return denial.At(denial.MissingToken, s.part())
	case !slices.ContainsFunc(accepted, func(one string) bool { return sameCertificate(one, shown) }):
		return denial.At(denial.BadToken, s.part())
	}
	return nil
}

// sameCertificate compares fingerprints without their colons and their case, and subjects to the letter.
func sameCertificate(one, other string) bool {
	return one == other || fingerprint(one) != "" && fingerprint(one) == fingerprint(other)
}

// fingerprint returns the hex digits of a SHA-256, and "" for anything else.
func fingerprint(text string) string {
	digits := strings.ToLower(strings.ReplaceAll(text, ":", ""))
	if sum, err := hex.DecodeString(digits); err != nil || len(sum) != sha256.Size {
		return ""
	}
	return digits
}

func (s *proxiedScheme) ready(k keyring) error {
	_, err := k.values(s.secretsName)
	return err
}

func (s *proxiedScheme) name() string { return "client certificate in " + s.field }

// ProxyHeaders returns the headers that only a trusted proxy may set.
func (a *Authenticator) ProxyHeaders() (names []string) {
	for _, one := range a.schemes {
		if s, ok := one.scheme.(*proxiedScheme); ok {
			names = append(names, s.field)
		}
	}
	return names
}
