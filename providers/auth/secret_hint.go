package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"holdfast/providers/auth/denial"
)

// hinted are the reasons for which a slip in the configured secret is worth checking.
var hinted = []denial.Reason{denial.BadSignature, denial.BadToken, denial.UnusableSecret}

// hint names the first slip in the secrets of a reference: "the secret X begins and ends with a quote"; "" if there is none.
func (k keyring) hint(reference string) string {
	for _, secret := range k.raw(reference) {
		if slip := slipIn(reference, secret); slip != "" {
			return "the secret " + reference + " " + slip
		}
	}
	return ""
}

// slipIn says what about a secret looks like a mistake of the file or variable that it comes from; "" for nothing. It is only a
// hint, since a sender may have chosen such a secret.
func slipIn(name, secret string) string {
	before, _, hasEquals := strings.Cut(secret, "=")
	quoted := len(secret) > 1 && secret[0] == secret[len(secret)-1] && strings.ContainsRune("\"'`", rune(secret[0]))
	switch {
	case strings.HasPrefix(secret, "\ufeff"):
		return "begins with a byte order mark: save its file without one"
	case quoted:
		return "begins and ends with a quote: remove both, since `docker run --env-file` and secret files keep them"
	case hasEquals && strings.TrimPrefix(strings.TrimSpace(before), "export ") == name:
		return fmt.Sprintf("begins with %s=: give the value alone", name)
	case slices.ContainsFunc([]rune(secret), isInvisible):
		return "contains an invisible character: copy it again"
	}
	return ""
}

func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == '\u00a0'
}
