package auth

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
