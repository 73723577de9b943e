package providers

import (
	"fmt"
)

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
