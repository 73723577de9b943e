package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func acknowledged(r event.Receipt) event.Acknowledged {
	return event.Acknowledged{Receipt: r.ForLoss(), RunID: runOf(r).RunID}
}

// Receipts are kept only of events that the database has in no form: neither a row, a dead letter, a decision nor an inbox row, nor
// as a repeat of another event, which has nothing of these.
func TestReceiptsAreKeptOfUnrecordedEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	stored, dead, gone := receipt(), receipt(), receipt()
	d.mustProcess(stored, parsed())
	require.NoError(t, d.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(dead)))
	waiting := d.spool(event.LaneOverflow, 1)[0]
	repeat := receipt()
	repeat.Key, repeat.Fingerprint = stored.Key, stored.Fingerprint
	require.True(t, d.mustProcess(repeat, parsed()).Duplicate)
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

	before := value[time.Time](d, `SELECT clock_timestamp()`)
	require.NoError(t, d.DeadLetters.SettleAccepted(t.Context(), nil, []string{gone.ID}))
	found, err = d.DeadLetters.Accepted(t.Context(), before, 10)
	require.NoError(t, err)
	require.Empty(t, found, "it was checked")
	require.NoError(t, d.DeadLetters.SettleAccepted(t.Context(), []string{gone.ID}, nil))
	require.Zero(t, value[int](d, `SELECT count(*) FROM accepted_events`))
}

// Whether the database can commit is found out without creating anything.
func TestACommitIsTried(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 3 {
		require.NoError(t, d.TryCommit(t.Context()))
	}
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM commit_checks`))
	turn(t, d.url, "default_transaction_read_only", "on", true)
	require.Error(t, openAt(t, d.url).TryCommit(t.Context()))
}
