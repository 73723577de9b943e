package auth

import (
	"fmt"
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

func newSchemes(p *definition.Problems, defs []definition.Scheme, secrets string) []scheme {
	if len(defs) == 0 {
		p.Add("auth", "is missing: no request could be authenticated")
	}
	var schemes []scheme
	for i, d := range defs {
		defaultSecrets(&d, secrets)
		if s := newScheme(p, fmt.Sprintf("auth[%d]", i), d); s != nil {
			schemes = append(schemes, s)
		}
	}
	return schemes
}

func defaultSecrets(d *definition.Scheme, name string) {
	fill := func(secrets *string) {
		if *secrets == "" {
			*secrets = name
		}
	}
	switch {
	case d.HMAC != nil:
		fill(&d.HMAC.Secrets)
	case d.Ed25519 != nil:
		fill(&d.Ed25519.Secrets)
	case d.ECDSA != nil:
		fill(&d.ECDSA.Secrets)
	case d.RSA != nil:
		fill(&d.RSA.Secrets)
	case d.Certificate != nil:
		fill(&d.Certificate.Secrets)
	case d.Token != nil:
		fill(&d.Token.Secrets)
	case d.Basic != nil:
		fill(&d.Basic.Secrets)
	case d.JWT != nil:
		fill(&d.JWT.Secrets)
	}
}

func newScheme(p *definition.Problems, field string, d definition.Scheme) scheme {
	var made []scheme
	if d.HMAC != nil {
		made = append(made, newHMAC(p, field+".hmac", d.HMAC))
	}
	if d.Ed25519 != nil {
		made = append(made, newPublicKey(p, field+".ed25519", d.Ed25519, ed25519Keys))
	}
	if d.ECDSA != nil {
		made = append(made, newPublicKey(p, field+".ecdsa", d.ECDSA, ecdsaKeys))
	}
	if d.RSA != nil {
		made = append(made, newPublicKey(p, field+".rsa", d.RSA, rsaKeys))
	}
	if d.Certificate != nil {
		made = append(made, newCertificate(p, field+".certificate", d.Certificate))
	}
	if d.Token != nil {
		made = append(made, newToken(p, field+".token", d.Token))
	}
	if d.Basic != nil {
		made = append(made, newBasic(p, field+".basic", d.Basic))
	}
	if d.JWT != nil {
		made = append(made, newJWT(p, field+".jwt", d.JWT))
	}
	if d.Address != nil {
		made = append(made, newAddress(p, field+".address", d.Address))
	}
	if len(made) != 1 {
		p.Add(field, "want exactly one of hmac, ed25519, ecdsa, rsa, certificate, token, basic, jwt, address")
		return nil
	}
	return made[0]
}
