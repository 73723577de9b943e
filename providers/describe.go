package providers

import (
	"fmt"
	"slices"
	"strings"
)

// Schemes are the ways to authenticate, in the order in which they are tried, in words that name no secret's value.
func (p *Provider) Schemes() []string {
	var all []string
	for _, s := range p.schemes {
		all = append(all, kindOf(s))
	}
	return all
}

// describe says where a scheme stands, what it is, and which secret it takes.
func (p *Provider) describe(s scheme) string {
	i := slices.Index(p.schemes, s)
	return fmt.Sprintf("auth[%d]: %s, with %s", i, kindOf(s), s.reference())
}

func kindOf(s scheme) string {
	switch s := s.(type) {
	case *hmacScheme:
		return "HMAC in " + s.header.Header
	case *ed25519Scheme:
		return "Ed25519 in " + s.header.Header
	case *jwtScheme:
		return "JWT (HS256)"
	case *basicScheme:
		return "basic, user " + s.user
	case *tokenScheme:
		return strings.TrimSpace("token in " + s.in + " " + s.name)
	case *addressScheme:
		return "address of the sender"
	}
	return "unknown"
}
