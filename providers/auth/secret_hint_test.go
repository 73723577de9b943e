package auth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlipsInSecrets(t *testing.T) {
	t.Parallel()
	const name, good = "STRIPE_WEBHOOK_SECRET", "whsec_field0123456789abcdef"
	for secret, want := range map[string]string{
		`"` + good + `"`:              "quote",
		"'" + good + "'":              "quote",
		"\ufeff" + good:               "byte order mark",
		name + "=" + good:             "begins with " + name,
		"export " + name + "=" + good: "begins with " + name,
		good + "\u200b":               "invisible",
		"whsec_\u00a0field012345":     "invisible",
	} {
		require.Contains(t, slipIn(name, secret), want, "%q", secret)
		require.NotContains(t, slipIn(name, secret), "field", "it must not contain the secret")
	}
	for _, secret := range []string{good, "a=b=c=012345678", `"`, `"half of a quote`, "dGVzdA==", ""} {
		require.Empty(t, slipIn(name, secret), "%q", secret)
	}
}
