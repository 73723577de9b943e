package providers

import (
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
