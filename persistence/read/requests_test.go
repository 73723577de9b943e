package read_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// The ID of a request leads to its events, wherever they are now, whether the ingress or the sender chose it.
func TestARequestLeadsToItsEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for _, request := range []string{uuid.Must(uuid.NewV7()).String(), "chosen-by-the-sender", uuid.NewString()} {
		requestLeadsToItsEvents(t, db, request)
	}
	for _, none := range []string{uuid.Must(uuid.NewV7()).String(), uuid.NewString(), "chosen-by-nobody", ""} {
		_, err := db.Read.EventsOfRequest(t.Context(), none)
		require.ErrorIs(t, err, event.ErrNotFound, none)
	}
}

func requestLeadsToItsEvents(t *testing.T, db *persistencetest.Database, request string) {
	t.Helper()
	of := func(id string) event.Receipt {
		r := receipt()
		r.RequestID = id
		return r
	}
	stored, dead, waiting, other := of(request), of(request), of(request), of(uuid.Must(uuid.NewV7()).String())
	db.Process(stored, parsed())
	db.Process(other, parsed())
	db.Record(deadLetter(dead))
	spooled, err := db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, waiting, body, false)
	require.NoError(t, err)
	require.True(t, spooled)

	ids, err := db.Read.EventsOfRequest(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, []string{stored.ID, dead.ID, waiting.ID}, ids)
	ids, err = db.Read.EventsOfRequest(t.Context(), other.RequestID)
	require.NoError(t, err)
	require.Equal(t, []string{other.ID}, ids)
}

// Lists show the end of an ID, which is enough to find its event, also one that couldn't be parsed.
func TestTheEndOfAnIDLeadsToItsEvent(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	stored, dead := receipt(), receipt()
	db.Process(stored, parsed())
	db.Record(deadLetter(dead))
	for _, id := range []string{stored.ID, dead.ID} {
		found, err := db.Read.EventsEndingWith(t.Context(), id[len(id)-8:])
		require.NoError(t, err)
		require.Equal(t, []string{id}, found)
	}
	providers, types, err := db.Read.RecentTypes(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{stored.Provider}, providers)
	require.Len(t, types, 1)
	found, err := db.Read.EventsEndingWith(t.Context(), "00000000")
	require.NoError(t, err)
	require.Empty(t, found)
}

// An ID that the sender has chosen finds its events, however many came since.
func TestAnOldRequestWithAChosenIDIsFound(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	old := receipt()
	old.RequestID = "chosen-long-ago"
	db.Process(old, parsed())
	db.Exec(`
INSERT INTO events SELECT (r).* FROM (
       SELECT jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(), 'key', i, 'request_id', 'r' || i)) AS r
         FROM events AS e, generate_series(1, 21000) AS i) AS made`)
	ids, err := db.Read.EventsOfRequest(t.Context(), old.RequestID)
	require.NoError(t, err)
	require.Equal(t, []string{old.ID}, ids)
}
