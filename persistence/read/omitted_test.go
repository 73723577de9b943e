package read_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/persistencetest"
)

// The entities that an event leaves out are shown with it, in lists and in a count, until a later run, or a rebuild, of a corrected
// definition changes them.
func TestOmittedEntitiesAreShown(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	omitting := parsed(snapshot("kept", `{}`))
	omitting.Omitted = omitting.Omitted.Add(event.OmittedEntity{Kind: "doc", ExternalID: "large", Reason: event.StateTooLarge})
	together, apart, other := receipt(), receipt(), receipt()
	db.Process(together, omitting)
	_, err := db.Writer.Write(t.Context(), event.RowOnly, apart, body, omitting, runOf(apart))
	require.NoError(t, err)
	db.Process(other, parsed())
	marked := func() (ids []string) {
		t.Helper()
		found, err := db.Read.Events(t.Context(), event.RecordQuery{WithOmitted: true})
		require.NoError(t, err)
		for _, r := range found {
			ids = append(ids, r.Receipt.ID)
		}
		return ids
	}
	require.Equal(t, []string{apart.ID, together.ID}, marked(), "also before its entities are written")
	_, err = db.Writer.Write(t.Context(), event.EntitiesOnly, apart, nil, omitting, runOf(apart))
	require.NoError(t, err)
	require.Equal(t, []string{apart.ID, together.ID}, marked())
	record, err := db.Read.Event(t.Context(), apart.ID)
	require.NoError(t, err)
	require.Equal(t, omitting.Omitted, record.Omitted)
	counts, err := db.Read.Omitting(t.Context(), time.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []oversight.OmittingEvents{{Provider: together.Provider, Count: 2}}, counts)

	db.Process(together, parsed(snapshot("kept", `{}`), snapshot("large", `{}`)))
	require.Equal(t, []string{apart.ID}, marked(), "the entity was changed")
}
