package auth

import (
	"cmp"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// KeySets returns the keys that a sender has published with which a token may be signed. It must not wait for the network, since
// anyone can send a token, and must be safe for concurrent use. The error is a *denial.Error: denial.NoKeys if the keys couldn't
// be fetched yet, denial.BadToken if the sender has published none with this ID.
type KeySets func(at jws.Set, keyID string) ([]jws.Key, error)

// publishedKeys are the keys of a sender at a fixed address.
type publishedKeys struct {
	url string
	// variable is the one in the URL's host; "" for none.
	variable string
	post     map[string]string
	answer   string
	unknown  string
}

// postKeyID stands for the ID of a key in a request for it.
const postKeyID = "kid"

// maxKeyID is in bytes.
const maxKeyID = 256

var (
	variableIn = regexp.MustCompile(`\{([^{}]*)\}`)
	isHostPart = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`).MatchString
)

func newPublishedKeys(p *definition.Problems, field string, d *definition.JWT) *publishedKeys {
	if d.Keys == nil {
		return nil
	}
	k := &publishedKeys{url: d.Keys.URL, post: d.Keys.Post, answer: d.Keys.Answer, unknown: d.Keys.Unknown}
	if d.Algorithm == "" || d.Algorithm == hs256 {
		p.Add(field+".algorithm", "want that of the sender's keys: RS256, ES256 or ES512")
	}
	names := variableIn.FindAllStringSubmatch(k.url, -1)
	u, err := url.Parse(variableIn.ReplaceAllString(k.url, "x"))
	host, _, _ := strings.Cut(strings.TrimPrefix(k.url, "https://"), "/")
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || u.Fragment != "" || !strings.Contains(u.Path, "/") ||
		len(names) > 1 || len(names) == 1 && !strings.Contains(host, names[0][0]) {
		p.Add(field+".keys.url", "want an https URL without a port; its host may have one {VARIABLE}")
	}
	if len(names) == 1 {
		k.variable = names[0][1]
		p.SecretName(field+".keys.url", k.variable)
	}
	if (len(k.post) > 0) != (k.answer != "") || len(k.post) > 0 && !slices.Contains(slices.Collect(maps.Values(k.post)), "{kid}") {
		p.Add(field+".keys.post", "want a field with {kid}, together with answer: the path of the key in the answer")
	}
	if k.unknown != "" && len(k.post) == 0 {
		p.Add(field+".keys.unknown", "is for post: a set of keys is fetched as a whole")
	}
	for name, value := range k.post {
		if variable := k.variableOf(value); variable != "" {
			p.SecretName(field+".keys.post."+name, variable)
		}
	}
	if d.Account == "" && k.variable == "" && len(k.post) == 0 {
		p.Add(field+".account", "must name a claim, or with detached a variable of the path, that has one of the secrets: "+
			"the sender signs for all of its customers")
	}
	return k
}

// variableOf returns the variable that a value of the request stands for; "" if none.
func (k *publishedKeys) variableOf(value string) string {
	found := variableIn.FindStringSubmatch(value)
	if len(found) < 2 || found[0] != value || found[1] == postKeyID {
		return ""
	}
	return found[1]
}

// references returns the variables that the keys need.
func (k *publishedKeys) references() (names []string) {
	if k.variable != "" {
		names = append(names, k.variable)
	}
	for _, value := range k.post {
		if name := k.variableOf(value); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readyForAccounts returns nil if all variables of the scheme have values: accounts, or secrets in the path.
func (s *jwtScheme) readyForAccounts(k keyring) error {
	for _, name := range s.references() {
		read := k.values
		if s.detached != nil && name == s.secretsName {
			read = k.usable
		}
		if _, err := read(name); err != nil {
			return err
		}
	}
	if s.keys == nil {
		return nil
	}
	_, err := s.keys.sets(k, "")
	return err
}

// maxBodies is how many combinations of values are tried for one key, while variables have several.
const maxBodies = 4

// sets returns the addresses of the keys: several if a variable has several values.
func (k *publishedKeys) sets(ring keyring, keyID string) (all []jws.Set, err error) {
	hosts := []string{""}
	if k.variable != "" {
		if hosts, err = ring.values(k.variable); err != nil {
			return nil, err
		}
	}
	bodies, err := k.bodies(ring, keyID)
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		if k.variable == "" || isHostPart(host) {
			address := strings.ReplaceAll(k.url, "{"+k.variable+"}", host)
			for _, body := range bodies {
				all = append(all, jws.Set{URL: address, Body: body, Answer: k.answer, Unknown: k.unknown})
			}
		}
	}
	if len(all) == 0 {
		return nil, denial.Of(denial.UnusableSecret)
	}
	return all, nil
}

// bodies returns the requests for one key, one for each combination of the variables' values: during a rotation, any of them can
// be the valid one. It is one nil if all keys are published together.
func (k *publishedKeys) bodies(ring keyring, keyID string) (all [][]byte, err error) {
	if len(k.post) == 0 {
		return [][]byte{nil}, nil
	}
	requests := []map[string]string{{}}
	for _, name := range slices.Sorted(maps.Keys(k.post)) {
		values := []string{k.post[name]}
		if values[0] == "{"+postKeyID+"}" {
			values[0] = keyID
		} else if variable := k.variableOf(values[0]); variable != "" {
			if values, err = ring.values(variable); err != nil {
				return nil, err
			}
		}
		var next []map[string]string
		for _, fields := range requests {
			for _, value := range values {
				with := maps.Clone(fields)
				with[name] = value
				next = append(next, with)
			}
		}
		requests = next[:min(len(next), maxBodies)]
	}
	for _, fields := range requests {
		body, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		all = append(all, body)
	}
	return all, nil
}

// host returns where the keys are, as the definition says it.
func (k *publishedKeys) host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(k.url, "https://"), "/")
	return host
}

// publicKeys returns the keys with which a token may be signed. With an error they may not be all: if some couldn't be fetched,
// the error says that, since the token may be signed with one of them.
func (s *jwtScheme) publicKeys(k keyring, token jws.Token, now time.Time) (keys []crypto.PublicKey, err error) {
	if s.keys == nil {
		return s.ownKeys(k)
	}
	if len(token.KeyID) > maxKeyID || token.KeyID == "" && len(s.keys.post) > 0 {
		return nil, denial.Of(denial.MalformedToken)
	}
	sets, err := s.keys.sets(k, token.KeyID)
	if err != nil {
		return nil, err
	}
	if k.keySets == nil {
		return nil, denial.Of(denial.NoKeys)
	}
	for _, set := range sets {
		found, failed := k.keySets(set, token.KeyID)
		for _, key := range jws.For(token, s.algorithm, found, now) {
			keys = append(keys, key.Public)
		}
		if set.Body != nil && len(keys) > 0 { // the API needn't be asked again with other credentials
			return keys, nil
		}
		if failed != nil && (err == nil || denial.ReasonOf(failed) == denial.NoKeys) {
			err = failed
		}
	}
	return keys, err
}

// ownKeys are the secrets as public keys.
func (s *jwtScheme) ownKeys(k keyring) ([]crypto.PublicKey, error) {
	return keysOf(k, s.secretsName, func(secret string) (crypto.PublicKey, bool) {
		key, ok := jws.ParsePublic(secret)
		return key, ok && jws.Fits(s.algorithm, key)
	})
}

// references returns all variables of the scheme.
func (s *jwtScheme) references() []string {
	names := []string{s.secretsName}
	if s.audience != "" {
		names = append(names, s.audience)
	}
	if s.keys != nil {
		names = append(names, s.keys.references()...)
	}
	return slices.Compact(names)
}

// KeySets returns where the senders of requests publish all their keys, if the variables for it are set. An API that is asked for
// one key at a time isn't among them.
func (a *Authenticator) KeySets() (all []jws.Set) {
	for _, one := range a.schemes {
		if s, ok := one.scheme.(*jwtScheme); ok && s.keys != nil && len(s.keys.post) == 0 && s.ready(a.keyring) == nil {
			sets, _ := s.keys.sets(a.keyring, "") // it is ready
			all = append(all, sets...)
		}
	}
	return all
}

// WithKeySets returns a copy that finds published keys with get. Without it no token that is signed with one is authentic.
func (a *Authenticator) WithKeySets(get KeySets) *Authenticator {
	with := *a
	with.keySets = get
	return &with
}

// values returns the values of a reference that aren't secrets, such as the name of an account, which may be short.
func (k keyring) values(reference string) ([]string, error) {
	reason := denial.NoSecret
	var values []string
	for _, value := range k.raw(reference) {
		switch {
		case value == Unreadable:
			reason = denial.UnreadableSecret
		case strings.TrimSpace(value) == "":
		case isPlaceholder(value) && !k.placeholders:
			reason = cmp.Or(map[bool]denial.Reason{true: denial.PlaceholderSecret}[reason == denial.NoSecret], reason)
		default:
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return nil, &denial.Error{Reason: reason}
	}
	return values, nil
}

// pinnedChain verifies tokens by the certificates in their headers, instead of keys that the sender publishes.
type pinnedChain struct {
	trust jws.Trust
	// signedAt is the claim with the time of signing in unix ms, at which the certificates must have been valid; "": they must be
	// valid now.
	signedAt string
}

var isOID = regexp.MustCompile(`^[0-2](\.(0|[1-9][0-9]*))+$`).MatchString

func newPinnedChain(p *definition.Problems, field string, d *definition.JWT) *pinnedChain {
	if d.Chain == nil {
		return nil
	}
	c := &pinnedChain{trust: jws.Trust{Leaf: d.Chain.Leaf, Issuer: d.Chain.Issuer}, signedAt: d.Chain.SignedAt}
	for i, text := range d.Chain.Roots {
		root, ok := jws.ParseRoot(text)
		if !ok {
			p.Add(fmt.Sprintf("%s.chain.roots[%d]", field, i), "want the PEM block of a root certificate (CA:TRUE)")
		}
		c.trust.Roots = append(c.trust.Roots, root)
	}
	if len(d.Chain.Roots) == 0 {
		p.Add(field+".chain.roots", "is missing: without a pinned root, anyone can make a chain to their own")
	}
	for name, oid := range map[string]string{"leaf": c.trust.Leaf, "issuer": c.trust.Issuer} {
		if oid != "" && !isOID(oid) {
			p.Add(field+".chain."+name, "want the OID of an extension, such as 1.2.840.113635.100.6.11.1")
		}
	}
	if d.Keys != nil || d.Detached != "" {
		p.Add(field+".chain", "can't be combined with keys or detached: remove one of them")
	}
	if d.Algorithm == "" || d.Algorithm == hs256 {
		p.Add(field+".algorithm", "want the algorithm of the signer's certificate: RS256, ES256 or ES512")
	}
	if d.Account == "" {
		p.Add(field+".account", "must name a claim that has one of the secrets: the sender signs for all of its customers")
	}
	return c
}

// authenticateByChain accepts a token whose signer has a certificate that leads to a pinned root and was valid at the time of
// signing.
func (s *jwtScheme) authenticateByChain(k keyring, r *Request, token jws.Token, now time.Time) error {
	signer, ok := token.Signer()
	switch {
	case !ok:
		return denial.At(denial.WrongCertificate, s.part())
	case !token.Verify(s.algorithm, signer): // first: verifying a chain takes many times as long
		return denial.At(denial.BadToken, s.part())
	}
	chain, ok := s.chain.find(k, token)
	if !ok {
		return denial.At(denial.WrongCertificate, s.part())
	}
	signed := now
	if s.chain.signedAt != "" {
		claims, _ := jws.ParseClaims(token.Payload)
		if signed, ok = claims.MilliTime(s.chain.signedAt); !ok {
			return denial.At(denial.MalformedToken, s.part())
		}
	}
	switch {
	case signed.After(now.Add(s.leeway)):
		return s.denyTime(denial.TimestampFromFuture, signed, now)
	case !chain.ValidAt(signed, s.leeway):
		return denial.At(denial.WrongCertificate, s.part())
	}
	return s.checkClaims(k, r, token, now)
}

// find verifies the chain of a token. In a process that signs in place of senders, its trial root also counts.
func (c *pinnedChain) find(k keyring, token jws.Token) (chain jws.Chain, ok bool) {
	if chain, ok = c.trust.Chain(token); ok || k.keySets == nil {
		return chain, ok
	}
	others, _ := k.keySets(jws.Set{}, token.KeyID) // an error is no root either
	trial := c.trust
	for _, one := range others {
		if one.Root != nil {
			trial.Roots = []*x509.Certificate{one.Root}
			if chain, ok = trial.Chain(token); ok {
				return chain, true
			}
		}
	}
	return nil, false
}
