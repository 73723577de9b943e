package suite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

// The mix has every provider of the catalogue, and each of its samples can be sent, in batches if the provider has them.
func TestTheMixIsTheWholeCatalogue(t *testing.T) {
	t.Parallel()
	c, err := writeDefinitions(t.TempDir())
	require.NoError(t, err)
	d := (&Suite{catalogue: c}).Mixed(&lab.Node{Ingress: "http://127.0.0.1:1"})
	d.Targets, d.Count = []string{"http://127.0.0.1:1"}, 1
	_, err = loadgen.New(d.Options)
	require.NoError(t, err)
	sent := map[string]bool{}
	for _, share := range d.Mix {
		sent[share.Provider.Name()] = true
		require.Nil(t, share.Provider.Rate(), "%s is held up by its rate", share.Provider.Name())
	}
	var left []string
	for _, name := range c.Names() {
		if !sent[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	for _, name := range []string{Firehose, Thin} {
		provider, _ := c.Lookup(name)
		require.True(t, signs(provider, EventType), name)
	}
	require.Equal(t, []string{
		"adyen", "adyen-platform", "airtable", "app-store", "braintree", "discord", "dropbox-sign", "finch", Firehose, "google-pubsub", "kinde",
		"mailgun", "mailgun-routes", "microsoft-graph", Missed, "opennode", "payos", "paypal", "plaid", "sendgrid", "sns", "telnyx", Thin,
		"truelayer", Walked, "wise",
	}, left, "these are left out: only the sender can sign, the body has the signature or token, or the secret is base64 without a prefix")
}
