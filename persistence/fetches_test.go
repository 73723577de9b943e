package persistence_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// States are added to what is stored, and never replace it, whichever of two attempts is later.
func TestFetchedStatesAreOnlyAdded(t *testing.T) {
	t.Parallel()
	db, id, other := open(t), uuid.NewString(), uuid.NewString()
	for _, c := range []struct{ save, stored string }{
		{`1`, `1`}, {`12`, `1`}, {"2\n3", `1`}, {"1\n2", "1\n2"}, {`1`, "1\n2"}, {"1\n3", "1\n2"}, {"1\n2\nnull", "1\n2\nnull"},
	} {
		stored, err := db.Fetches.SaveFetched(t.Context(), id, event.Fetched{At: noon, State: []byte(c.save)})
		require.NoError(t, err)
		require.Equal(t, c.stored, string(stored.State), "after %q", c.save)
	}
	gone := event.Fetched{At: noon, Gone: true}
	for _, f := range []event.Fetched{gone, {At: noon, State: []byte(`1`)}} {
		stored, err := db.Fetches.SaveFetched(t.Context(), other, f)
		require.NoError(t, err)
		require.Equal(t, gone, stored)
	}
}
