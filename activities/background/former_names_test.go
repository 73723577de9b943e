package background

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// failing is a store with one destination, which has been failing since a time.
type failing struct {
	DestinationStore

	since time.Time
}

func (f failing) Destination(context.Context, string) (delivery.Destination, error) {
	return delivery.Destination{Name: "crm", DisableAfter: event.Duration(24 * time.Hour)}, nil
}

func (f failing) Condition(context.Context, int64) (delivery.Condition, error) {
	return delivery.Condition{State: delivery.DestinationReady, FailingSince: &f.since, Failure: "503"}, nil
}

func (f failing) ProbeDestination(context.Context, string, oversight.Actor) (delivery.Condition, error) {
	return f.Condition(context.Background(), 1)
}

// During a rolling upgrade a new worker runs activities for the workflow code of an older one: to that, a destination without
// trouble_since has recovered.
func TestOlderWorkersSeeThatADestinationIsFailing(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Hour).UTC()
	former := &FormerNames{Activities: &Activities{Destinations: failing{since: since}}}
	check, err := former.LookAtReceiver(t.Context(), 1)
	require.NoError(t, err)
	updated, err := former.ChangeReceiver(t.Context(), DestinationUpdate{DestinationID: 1, By: "ada"})
	require.NoError(t, err)
	for _, result := range []any{check, map[string]any{"condition": updated, "disable_after": "24h"}} {
		raw, err := json.Marshal(result)
		require.NoError(t, err)
		var old struct {
			Condition struct {
				TroubleSince time.Time `json:"trouble_since"`
				Trouble      string    `json:"trouble"`
			} `json:"condition"`
		}
		require.NoError(t, json.Unmarshal(raw, &old))
		require.Equal(t, since, old.Condition.TroubleSince, string(raw))
		require.Equal(t, "503", old.Condition.Trouble)
		var now DestinationCheck
		require.NoError(t, json.Unmarshal(raw, &now))
		require.Equal(t, since, *now.Condition.FailingSince, "and newer code reads it, too")
		require.Equal(t, event.Duration(24*time.Hour), now.DisableAfter)
	}
}
