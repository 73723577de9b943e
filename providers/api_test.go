package providers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is off without a credential is named, with the variables to set.
func TestFeaturesThatNeedACredential(t *testing.T) {
	t.Parallel()
	c, err := Load("")
	require.NoError(t, err)
	for name, want := range map[string]string{
		"gocardless": "fetch and recover are off: set GOCARDLESS_ACCESS_TOKEN for the workers. Until then, thin events are processed " +
			"without the state that they name, and events that never arrive aren't noticed",
		"mollie":  "fetch is off: set MOLLIE_API_KEY for the workers. Until then, thin events are processed without the state that they name",
		"paddle":  "recover is off: set PADDLE_API_KEY for the workers. Until then, events that never arrive aren't noticed",
		"discord": "",
	} {
		p, ok := c.Lookup(name)
		require.True(t, ok)
		text, isPartial := p.APIOff(func(string) []string { return nil })
		require.Equal(t, want, text, name)
		require.False(t, isPartial)
		text, _ = p.APIOff(func(string) []string { return []string{"a-credential"} })
		require.Empty(t, text, name)
	}
	okta, _ := c.Lookup("okta")
	text, isPartial := okta.APIOff(func(name string) []string {
		if name == "OKTA_DOMAIN" {
			return []string{"acme.okta.com"}
		}
		return nil
	})
	require.Contains(t, text, "set OKTA_API_TOKEN for")
	require.True(t, isPartial)
}
