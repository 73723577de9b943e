package deadletters_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/persistencetest"
)

func TestRunsAreComparedWithRows(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	processed, dead, lost, purged, stored, held := receipt(), receipt(), receipt(), receipt(), receipt(), receipt()
	db.Process(processed, parsed())
	db.Process(purged, parsed())
	db.Process(held, parsed())
	db.Exec(`DELETE FROM events WHERE id = ANY ($1)`, []string{purged.ID, held.ID})
	_, err := db.Writer.Write(t.Context(), event.RowOnly, stored, body, parsed(), runOf(stored))
	require.NoError(t, err)
	db.Record(deadLetter(dead))
	died := db.DeadLetterOf(dead).LastFailed
	at := died.Add(-time.Second)
	closed := func(r event.Receipt, run event.Run, status string) operation.ClosedRun {
		return operation.ClosedRun{Run: run, EventID: r.ID, Status: status, ClosedAt: at}
	}
	nameless := operation.ClosedRun{Run: event.Run{RunID: uuid.NewString()}, Status: "terminated"}
	foreign := operation.ClosedRun{Run: event.Run{RunID: uuid.NewString()}, EventID: "nobody", Status: "terminated"}
	later := operation.ClosedRun{Run: anotherRun(dead), EventID: dead.ID, Status: "terminated", ClosedAt: died.Add(time.Second)}
	all := []operation.ClosedRun{
		closed(processed, anotherRun(processed), "terminated"),
		closed(dead, runOf(dead), "terminated"),
		closed(dead, anotherRun(dead), "failed"),     // a later failure has replaced it
		closed(dead, anotherRun(dead), "terminated"), // it has failed since
		closed(purged, runOf(purged), "completed"),   // its key shows that it was processed
		later,
		closed(held, runOf(held), "terminated"), // it owns its key, and no dead letter was recorded: nothing else has it
		closed(stored, runOf(stored), "completed"), // a restore has undone what followed
		closed(lost, runOf(lost), "failed"),
		nameless,
		foreign,
	}
	got, err := db.DeadLetters.Unrecorded(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, all[5:], got)

	rows, err := db.DeadLetters.StoredEvents(t.Context(), []string{processed.ID, lost.ID, "nobody", ""})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{processed.ID: true}, rows)
}

func TestAStaleReplayIsReleased(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	r := receipt()
	db.Record(deadLetter(r))
	id := db.DeadLetterOf(r).ID
	require.NoError(t, db.Claim(id))
	stale, err := db.DeadLetters.StaleReplays(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, stale)
	require.NoError(t, db.DeadLetters.ReleaseStale(t.Context(), id))
	require.Equal(t, event.DeadLetterReplaying, db.DeadLetterOf(r).State)

	db.Exec(`UPDATE dead_letters SET replaying_since = now() - interval '16 minutes'`)
	stale, err = db.DeadLetters.StaleReplays(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, stale, 1)
	behind, err := db.DeadLetters.StaleReplays(t.Context(), id, 10)
	require.NoError(t, err)
	require.Empty(t, behind)
	require.NoError(t, db.DeadLetters.ReleaseStale(t.Context(), id))
	require.Equal(t, event.DeadLetterOpen, db.DeadLetterOf(r).State)
}
