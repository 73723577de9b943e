package deadletters_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func acknowledged(r event.Receipt) event.Acknowledged {
	return event.Acknowledged{Receipt: r.ForLoss(), RunID: runOf(r).RunID}
}

// Receipts are kept only of events that the database has in no form: neither a row, a dead letter, a decision nor an inbox row, nor
// as a repeat of another event, which has nothing of these.
func TestReceiptsAreKeptOfUnrecordedEvents(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	stored, dead, gone := receipt(), receipt(), receipt()
	d.Process(stored, parsed())
	require.NoError(t, d.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(dead)))
	waiting := d.Spool(event.LaneOverflow, 1)[0]
	repeat := receipt()
	repeat.Key, repeat.Fingerprint = stored.Key, stored.Fingerprint
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, repeat, body, parsed(), runOf(repeat))
	require.NoError(t, err)
	require.True(t, persisted.Duplicate)
	all := []event.Acknowledged{
		acknowledged(stored), acknowledged(dead), acknowledged(gone), acknowledged(gone), acknowledged(waiting), acknowledged(repeat),
	}
	for range 2 { // a look-up whose answer was lost is repeated
		kept, err := d.DeadLetters.KeepAccepted(t.Context(), all)
		require.NoError(t, err)
		require.Equal(t, 1, kept)
	}
	kept, err := d.DeadLetters.KeepAccepted(t.Context(), all[:2])
	require.NoError(t, err)
	require.Zero(t, kept)

	found, err := d.DeadLetters.Accepted(t.Context(), time.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, gone.ID, found[0].Receipt.ID)
	require.Equal(t, gone.Key, found[0].Receipt.Key)
	require.Equal(t, runOf(gone).RunID, found[0].RunID)
	require.True(t, found[0].Receipt.BodyLost)
	require.Empty(t, found[0].Receipt.Headers)

	before := persistencetest.Value[time.Time](d, `SELECT clock_timestamp()`)
	require.NoError(t, d.DeadLetters.SettleAccepted(t.Context(), nil, []string{gone.ID}))
	found, err = d.DeadLetters.Accepted(t.Context(), before, 10)
	require.NoError(t, err)
	require.Empty(t, found, "it was checked")
	require.NoError(t, d.DeadLetters.SettleAccepted(t.Context(), []string{gone.ID}, nil))
	require.Zero(t, persistencetest.Value[int](d, `SELECT count(*) FROM accepted_events`))
}
