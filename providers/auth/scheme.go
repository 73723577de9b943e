package auth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// scheme is one way to authenticate a request.
type scheme interface {
	// authenticate returns nil if the request is authentic, and a *denial.Error otherwise.
	authenticate(k keyring, r *Request, now time.Time) error
	// ready returns nil if there is a secret with which a request could be authentic.
	ready(k keyring) error
	// reference returns the name of the secrets.
	reference() string
	// sign makes r authentic with each of the secrets if there is room for several signatures, otherwise with the first.
	sign(r *Request, secrets []string, now time.Time) error
	// covers returns which parts of a request are authentic once the scheme has passed.
	covers() Coverage
	// name describes the scheme without the value of a secret.
	name() string
	// hidden returns the headers, query and path parameters with secrets or signatures, which no receipt keeps.
	hidden() (headers, query, path []string)
}

func newSchemes(p *definition.Problems, defs []definition.Scheme, secrets string) []alternative {
	if len(defs) == 0 {
		p.Add("auth", "is missing: no request could be authenticated")
	}
	var schemes []alternative
	for i, d := range defs {
		field := fmt.Sprintf("auth[%d]", i)
		if s := newScheme(p, field, d, secrets); s != nil {
			schemes = append(schemes, alternative{s, newChoice(p, field+".when", d.When)})
		}
	}
	if len(schemes) > 0 && !slices.ContainsFunc(schemes, alternative.isDefault) {
		p.Add("auth", "has no scheme without when: want one for requests whose header is missing or names nothing known")
	}
	return schemes
}

// newScheme compiles the one scheme that is set. Without secrets of its own, it uses the given ones.
func newScheme(p *definition.Problems, field string, d definition.Scheme, secrets string) scheme {
	var made []scheme
	add := func(build func(field string) scheme, name string, own *string) {
		*own = cmp.Or(*own, secrets)
		made = append(made, build(field+"."+name))
	}
	if s := d.HMAC; s != nil {
		add(func(at string) scheme { checkSecret(p, at, s.Signed, false); return newHMAC(p, at, s) }, "hmac", &s.Secrets)
	}
	if s := d.Hash; s != nil {
		add(func(at string) scheme { checkSecret(p, at, s.Signed, true); return newPlainHash(p, at, s) }, "hash", &s.Secrets)
	}
	if s := d.Ed25519; s != nil {
		add(func(at string) scheme { return newPublicKey(p, at, s, ed25519Keys) }, "ed25519", &s.Secrets)
	}
	if s := d.ECDSA; s != nil {
		add(func(at string) scheme { return newPublicKey(p, at, s, ecdsaKeys) }, "ecdsa", &s.Secrets)
	}
	if s := d.RSA; s != nil {
		add(func(at string) scheme { return newPublicKey(p, at, s, rsaKeys) }, "rsa", &s.Secrets)
	}
	if s := d.Certificate; s != nil {
		add(func(at string) scheme { return newCertificate(p, at, s) }, "certificate", &s.Secrets)
	}
	if s := d.Token; s != nil {
		add(func(at string) scheme { return newToken(p, at, s) }, "token", &s.Secrets)
	}
	if s := d.Basic; s != nil {
		add(func(at string) scheme { return newBasic(p, at, s) }, "basic", &s.Secrets)
	}
	if s := d.JWT; s != nil {
		add(func(at string) scheme { return newJWT(p, at, s) }, "jwt", &s.Secrets)
	}
	if s := d.Address; s != nil {
		made = append(made, newAddress(p, field+".address", s))
	}
	if s := d.Proxied; s != nil {
		add(func(at string) scheme { return newProxied(p, at, s) }, "client_certificate", &s.Secrets)
	}
	if len(made) != 1 {
		p.Add(field, "want exactly one of hmac, hash, ed25519, ecdsa, rsa, certificate, token, basic, jwt, address, client_certificate")
		return nil
	}
	return made[0]
}

// alternative is one of a definition's schemes, and the header that chooses it.
type alternative struct {
	scheme
	when choice
}

// choice is the value of a header, or of one of its fields, that chooses a scheme; empty for a default.
type choice struct{ header, field, value string }

func newChoice(p *definition.Problems, field string, d *definition.Choice) choice {
	if d == nil {
		return choice{}
	}
	p.Required(field+".value", d.Value)
	return choice{p.HeaderName(field+".header", d.Header), d.Field, d.Value}
}

func (a alternative) isDefault() bool { return a.when == choice{} }

func (a alternative) name() string {
	if a.isDefault() {
		return a.scheme.name()
	}
	return a.scheme.name() + ", if " + a.when.header + " says " + a.when.value
}

// chosen returns the indexes of the schemes to try: those that a header of the request chooses, otherwise those without a
// choice. Since the header isn't signed, it must not have a scheme accept the secret of another one. It fails if the header
// appears twice.
func (a *Authenticator) chosen(r *Request) (indexes []int, err error) {
	var defaults []int
	for i, s := range a.schemes {
		if s.isDefault() {
			defaults = append(defaults, i)
			continue
		}
		header, err := r.header(s.when.header)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(s.when.of(header), s.when.value) {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return defaults, nil
	}
	return indexes, nil
}

// of returns the value in a header: the first that isn't empty, if it has fields.
func (c choice) of(header string) string {
	if c.field == "" {
		return strings.TrimSpace(header)
	}
	for pair := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); strings.TrimSpace(name) == c.field && value != "" {
			return value
		}
	}
	return ""
}

// announce sets the header in a signed request.
func (c choice) announce(r *Request) {
	if c.header == "" {
		return
	}
	value := c.value
	if c.field != "" {
		value = c.field + "=" + value
	}
	r.SetHeader(c.header, value)
}

// queuedScheme stands in for the schemes of a definition that only reads queues. The broker authenticates its messages, and no
// HTTP request is authentic.
type queuedScheme struct{}

// OnlyQueued returns an authenticator that accepts no HTTP request.
func OnlyQueued(paths []Path) *Authenticator {
	return &Authenticator{schemes: []alternative{{queuedScheme{}, choice{}}}, paths: paths}
}

// authenticate accepts only what sign has marked, for trying out a definition.
func (queuedScheme) authenticate(_ keyring, r *Request, _ time.Time) error {
	if r.queued {
		return nil
	}
	return denial.Of(denial.OnlyQueued)
}

func (queuedScheme) sign(r *Request, _ []string, _ time.Time) error {
	r.queued = true
	return nil
}

func (queuedScheme) ready(keyring) error  { return nil }
func (queuedScheme) reference() string    { return "" }
func (queuedScheme) references() []string { return nil }
func (queuedScheme) covers() Coverage     { return Coverage{All: true} }
func (queuedScheme) name() string         { return "queues only, no HTTP requests" }

func (queuedScheme) hidden() (headers, query, path []string) { return nil, nil, nil }
