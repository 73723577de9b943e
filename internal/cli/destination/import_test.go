package destination

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/declared"
	"holdfast/operator/importer"
)

// Subscriptions of a dispatcher become the equivalent of subscriptions.yaml: a destination each, with its signature and its
// secret, which the plan doesn't show. Existing ones stay.
func TestSubscriptionsOfADispatcherAreMoved(t *testing.T) {
	t.Parallel()
	rate := 50.0
	old := importer.ImportedSubscription{
		Line: 1, Name: "crm", URL: "https://crm.example.com/hooks", EventTypes: []string{"order.*"}, Secret: "a secret of theirs",
		RateLimit: &rate, Active: true,
		Signature: json.RawMessage(`{"hmac":{"signed":"{body}","signature":{"header":"x-webhook-signature","grammar":"prefix","prefix":"sha256="}}}`),
	}
	f, err := fileOfImported([]importer.ImportedSubscription{old})
	require.NoError(t, err)
	require.NoError(t, mistakesIn(f, declared.State{}))
	require.Equal(t, "a secret of theirs", f.secrets["crm"])
	to := f.Destinations["crm"]
	require.Equal(t, &delivery.Rate{Requests: 50, Per: to.Rate.Per}, to.Rate)
	p, err := declared.PlanOf(f.State, declared.State{}, false)
	require.NoError(t, err)
	require.Equal(t, 2, p.Count(declared.Create))
	shown, err := json.Marshal(p)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "a secret of theirs")

	again, err := declared.PlanOf(
		f.State, declared.Stored([]delivery.Destination{to}, []delivery.Subscription{f.Subscriptions["crm"].Subscription}), false)
	require.NoError(t, err)
	require.Empty(t, again.Changes)

	wrong := old
	wrong.Line, wrong.Name, wrong.Signature = 2, "erp", json.RawMessage(`{"hmac":{}}`)
	f, err = fileOfImported([]importer.ImportedSubscription{old, wrong})
	require.NoError(t, err)
	require.Error(t, mistakesIn(f, declared.State{}))
	_, err = fileOfImported([]importer.ImportedSubscription{old, old})
	require.ErrorContains(t, err, "line 1: name: another subscription has it")
}
