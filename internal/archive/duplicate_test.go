package archive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

// A dead letter that was resolved as a duplicate comes back as one, before and after the event that it repeats:
//   - it names that event
//   - its key belongs to that event, so that a repeat is answered with an event that exists
func TestADuplicateComesBackWithTheEventItRepeats(t *testing.T) {
	t.Parallel()
	for name, withEvent := range map[string]bool{"alone": false, "with its event": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket, err := archive.Open("file://" + t.TempDir())
			require.NoError(t, err)
			old, fresh := open(t), open(t)
			owner, dead := receiptAt(0), receiptAt(1)
			dead.Key = "missing:1"
			died(t, old, dead, bodyOf(0))
			process(t, old, owner, bodyOf(0))
			corrected, err := parse(dead, bodyOf(0))
			require.NoError(t, err)
			corrected.Identity = &event.Identity{Key: owner.Key, KeyFrom: event.KeyFromEvent}
			persisted, err := old.Writer.Write(t.Context(), event.WholeEvent, dead, bodyOf(0), corrected, runOf(dead))
			require.NoError(t, err)
			require.Equal(t, owner.ID, persisted.Owner)
			letter := letterOf(t, old, dead)

			archiver := &archive.Archiver{Store: old.Upkeep, Bucket: bucket}
			require.EqualValues(t, 1, purge(t, archiver, retention.DeadLetters))
			want := operation.ImportCounts{operation.ImportDeadLetter: {New: 1}}
			if withEvent {
				require.EqualValues(t, 2, purge(t, archiver, retention.Events), "the event, and the ID of its duplicate")
				want[operation.ImportEvent] = operation.ImportCount{New: 1}
			}
			require.Equal(t, want, bring(t, fresh, bucket))
			back := letterOf(t, fresh, dead)
			require.Equal(t, owner.ID, letter.DuplicateOf)
			require.Equal(t, letter.DuplicateOf, back.DuplicateOf)
			require.Equal(t, event.DeadLetterResolved, back.State)

			again := receiptAt(2)
			again.Key = dead.Key
			persisted, err = fresh.Writer.Write(t.Context(), event.WholeEvent, again, bodyOf(0), event.Parsed{}, runOf(again))
			require.NoError(t, err)
			require.Equal(t, owner.ID, persisted.Owner)
		})
	}
}

func letterOf(t *testing.T, store *persistence.Store, r event.Receipt) event.DeadLetter {
	t.Helper()
	all, err := store.DeadLetters.DeadLetters(t.Context(), event.DeadLetterQuery{EventID: r.ID})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}
