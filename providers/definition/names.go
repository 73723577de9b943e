package definition

import (
	"regexp"
	"strings"
)

var (
	headerPattern = regexp.MustCompile(`^[a-z0-9!#$%&'*+.^_|~-]+$`)
	secretPattern = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// HeaderName returns the name in lower case, and reports an invalid one.
func (p *Problems) HeaderName(field, name string) string {
	name = strings.ToLower(name)
	if p.Required(field, name) && !headerPattern.MatchString(name) {
		p.Add(field, "%q is not the name of a header", name)
	}
	return name
}

// SecretName reports an invalid name of a secret.
func (p *Problems) SecretName(field, name string) {
	if p.Required(field, name) && !secretPattern.MatchString(name) {
		p.Add(field, "want the name of a secret such as STRIPE_WEBHOOK_SECRET, never the secret itself")
	}
}
