package providers

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Secrets gives the current secrets of a reference, such as "STRIPE_WEBHOOK_SECRET". Several are valid at once while
// one replaces the other. It must be safe for concurrent use.
type Secrets func(name string) []string

// placeholders are the secrets that everybody knows: of documentation, templates and test suites.
var placeholders = []string{
	"changeme", "change-me", "change_me", "secret", "your-secret", "your_secret", "your-webhook-secret", "password",
	"test", "testing", "test-secret", "test_secret", "example", "placeholder", "todo", "xxx", "...", "null", "nil",
	"none", "undefined", "no-secret-provided",
}

// minSecret is how many bytes a secret has at least, without its prefix: what is shorter can be guessed.
const minSecret = 12

// IsPlaceholder tells whether a secret is empty, or one that everybody knows. Such a secret never authenticates.
func IsPlaceholder(secret string) bool {
	s := strings.ToLower(withoutPrefix(secret))
	return s == "" || slices.Contains(placeholders, s) || strings.HasPrefix(strings.ToLower(secret), "whsec_test_")
}

// isShortSecret tells whether a secret can be guessed. It never authenticates either.
func isShortSecret(secret string) bool { return len(withoutPrefix(secret)) < minSecret }

func withoutPrefix(secret string) string {
	s := strings.TrimSpace(secret)
	for _, prefix := range []string{"whsec_", "whpk_", "whsk_", "pdl_ntfset_"} {
		if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			s = s[len(prefix):]
		}
	}
	return s
}

// secrets gives the usable secrets of a reference.
func (p *Provider) secrets(reference string) ([]string, error) {
	if p.source == nil {
		return nil, &AuthError{Reason: ReasonNoSecret}
	}
	var usable []string
	reason := ReasonNoSecret
	for _, s := range p.source(reference) {
		switch {
		case strings.TrimSpace(s) == "":
		case IsPlaceholder(s) && !p.placeholders:
			reason = ReasonPlaceholderSecret
		case isShortSecret(s) && !p.placeholders:
			reason = ReasonShortSecret
		default:
			usable = append(usable, s)
		}
	}
	if len(usable) == 0 {
		return nil, &AuthError{Reason: reason}
	}
	return usable, nil
}

// decodeKey reads the base64 that stands after the prefix, padded or not.
func decodeKey(secret, prefix string) ([]byte, bool) {
	text := strings.TrimRight(strings.TrimPrefix(secret, prefix), "=")
	key, err := base64.RawStdEncoding.DecodeString(text)
	return key, err == nil && len(key) > 0
}

// CheckSecrets says why the provider could authenticate nobody with the secrets as they are now; nil if it could.
func (p *Provider) CheckSecrets() error {
	var first error
	for _, s := range p.schemes {
		err := s.ready(p)
		if err == nil {
			return nil
		}
		if first == nil || ranks[reasonOf(err)] > ranks[reasonOf(first)] {
			first = err
		}
	}
	return first
}

// SecretNames are the references to secrets that the definition makes, each once.
func (p *Provider) SecretNames() []string {
	var names []string
	for _, s := range p.schemes {
		if !slices.Contains(names, s.reference()) {
			names = append(names, s.reference())
		}
	}
	return names
}
