package providers

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	headerPattern = regexp.MustCompile(`^[a-z0-9!#$%&'*+.^_|~-]+$`)
	secretPattern = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// headerName gives the name in lower case, and reports what is no name.
func (p *problems) headerName(field, name string) string {
	name = strings.ToLower(name)
	if p.required(field, name) && !headerPattern.MatchString(name) {
		p.add(field, "%q is not the name of a header", name)
	}
	return name
}

func (p *problems) secretName(field, name string) {
	if p.required(field, name) && !secretPattern.MatchString(name) {
		p.add(field, "want the name of a secret such as STRIPE_WEBHOOK_SECRET, never the secret itself")
	}
}

func (p *problems) newSchemes(defs []schemeDefinition, secrets string) []scheme {
	if len(defs) == 0 {
		p.add("auth", "is missing: nobody could be authenticated")
	}
	var schemes []scheme
	for i, d := range defs {
		d.defaultSecrets(secrets)
		if s := p.newScheme(fmt.Sprintf("auth[%d]", i), d); s != nil {
			schemes = append(schemes, s)
		}
	}
	return schemes
}

func (d *schemeDefinition) defaultSecrets(name string) {
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
	case d.Token != nil:
		fill(&d.Token.Secrets)
	case d.Basic != nil:
		fill(&d.Basic.Secrets)
	case d.JWT != nil:
		fill(&d.JWT.Secrets)
	}
}

func (p *problems) newScheme(field string, d schemeDefinition) scheme {
	var made []scheme
	if d.HMAC != nil {
		made = append(made, p.newHMAC(field+".hmac", d.HMAC))
	}
	if d.Ed25519 != nil {
		made = append(made, p.newEd25519(field+".ed25519", d.Ed25519))
	}
	if d.Token != nil {
		made = append(made, p.newToken(field+".token", d.Token))
	}
	if d.Basic != nil {
		made = append(made, p.newBasic(field+".basic", d.Basic))
	}
	if d.JWT != nil {
		made = append(made, p.newJWT(field+".jwt", d.JWT))
	}
	if d.Address != nil {
		made = append(made, p.newAddress(field+".address", d.Address))
	}
	if len(made) != 1 {
		p.add(field, "want exactly one of hmac, ed25519, token, basic, jwt, address")
		return nil
	}
	return made[0]
}
