package ingress

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// withCurrent gives every provider the secrets that a pointer holds at the time.
func withCurrent(secrets *atomic.Pointer[[]string]) func(*Options, *intake.Options) {
	return func(o *Options, _ *intake.Options) {
		o.Catalogue = o.Catalogue.(*providers.Catalogue).WithSecrets(func(string) []string { return *secrets.Load() })
	}
}

// While a secret can't be read that could be before, a request may be authentic: its sender is asked to send it again, also if its
// body is large. Without a secret it is refused permanently.
func TestASecretThatCannotBeReadAnyMore(t *testing.T) {
	t.Parallel()
	var secrets atomic.Pointer[[]string]
	secrets.Store(&[]string{secret})
	d := openDoor(t, "", withCurrent(&secrets))
	require.Equal(t, http.StatusAccepted, d.deliver(t, "stripe", "/webhooks/stripe", note, true).status)

	secrets.Store(&[]string{auth.Unreadable})
	for path, body := range map[string]string{"stripe": note, "gocardless": largeBatch(mib)} {
		answer := d.deliver(t, path, "/webhooks/"+path, body, true)
		require.Equal(t, http.StatusServiceUnavailable, answer.status, path)
		require.NotEmpty(t, answer.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusServiceUnavailable, d.deliver(t, "umnico", "/webhooks/umnico", "{}", false).status, "by address")

	secrets.Store(&[]string{})
	require.Equal(t, http.StatusUnauthorized, d.deliver(t, "stripe", "/webhooks/stripe", note, true).status)
	secrets.Store(&[]string{secret})
	require.Equal(t, http.StatusOK, d.deliver(t, "stripe", "/webhooks/stripe", note, true).status, "a duplicate")
}

// A secret in quotes is named as such, to operators only.
func TestASecretInQuotes(t *testing.T) {
	t.Parallel()
	var secrets atomic.Pointer[[]string]
	secrets.Store(&[]string{`"` + secret + `"`})
	d := openDoor(t, "", withCurrent(&secrets))
	answer := d.deliver(t, "stripe", "/webhooks/stripe", note, true, "x-request-id", "slip-1")
	require.Equal(t, http.StatusUnauthorized, answer.status)
	require.NotContains(t, answer.raw, "quote")
	require.Contains(t, logged.line("slip-1"), "the secret STRIPE_WEBHOOK_SECRET begins and ends with a quote")
	require.NotContains(t, logged.line("slip-1"), secret)
}
