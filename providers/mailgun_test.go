package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/decode"
)

// Mailgun signs webhooks and routes with one signing key, and nothing but a time and a token. An event of a webhook and a mail of a
// route with one token are two events. Another mail with the token of an earlier one is a conflict, which is kept as a dead letter.
func TestWebhooksAndRoutesOfMailgunShareNoKey(t *testing.T) {
	t.Parallel()
	received := func(provider string, s sent) event.Receipt {
		return receiptOfItem(providerOf(t, provider, secretOfTests), itemOfSent(t, provider, s))
	}
	mail := func(subject string) event.Receipt {
		return received("mailgun-routes", sent{form("timestamp", "1760000000", "token", "t1", "sender", "ada@example.com", "subject", subject),
			[]string{"content-type", decode.FormType}})
	}
	webhook := received("mailgun", sent{body: `{"signature":{"timestamp":"1760000000","token":"t1"},"event-data":{"event":"delivered"}}`})
	first, other := mail("Order"), mail("Another order")
	require.NotEqual(t, webhook.WorkflowID(), first.WorkflowID())
	require.Equal(t, first.WorkflowID(), other.WorkflowID())
	require.NotEqual(t, first.Fingerprint, other.Fingerprint)
	for _, r := range []event.Receipt{webhook, first, other} {
		require.Equal(t, "t1", r.Key)
		require.True(t, r.Certain, "a certain key with another content is a conflict and not a duplicate")
	}
}
