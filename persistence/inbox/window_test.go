package inbox_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

// Two events of a key are in the inbox, the second beyond the window of the first:
//   - both are kept, in either lane, and a redelivery of each is a duplicate
//   - both are stored in the end, whichever is first
func TestTheInboxKeepsTheDedupeWindow(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]int{"in order": {0, 1}, "the later one first": {1, 0}} {
		for _, lane := range []event.Lane{event.LaneOverflow, event.LaneBulk} {
			t.Run(name+" "+string(lane), func(t *testing.T) {
				t.Parallel()
				d := persistencetest.Open(t)
				w := d.Inbox.NewInboxWriter()
				first := receipt()
				first.DedupeWindow = event.Duration(15 * time.Minute)
				events := []event.Receipt{first, sameKey(first, 20*time.Minute)}
				for _, r := range events {
					for _, copies := range []event.Receipt{r, sameKey(r, time.Second)} {
						stored, err := w.Spool(t.Context(), lane, copies, body, false)
						require.NoError(t, err)
						require.Equal(t, copies.ID == r.ID, stored)
					}
				}
				var seen []event.Waiting
				n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 1, persistencetest.SettleAll(event.StartOutcome{Started: true}, &seen))
				require.NoError(t, err)
				if lane == event.LaneBulk {
					for range events { // one event of a key at a time
						run := event.Run{WorkflowID: event.BatchWorkflowID(uuid.NewString()), RunID: uuid.NewString()}
						batch, err := d.Writer.ProcessBatch(t.Context(), 100, run, func(event.Receipt, []byte) (event.Parsed, error) {
							return parsed(), nil
						})
						require.NoError(t, err)
						require.Len(t, batch, 1)
					}
					require.Zero(t, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
					require.EqualValues(t, 2, persistencetest.Value[int64](d, `SELECT count(*) FROM events`))
					return
				}
				require.Equal(t, 1, n)
				require.EqualValues(t, 1, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`), "the other one stays")
				for _, i := range order {
					d.Process(events[i], parsed(snapshot("1", `{}`)))
				}
				require.EqualValues(t, 2, persistencetest.Value[int64](d, `SELECT count(*) FROM events WHERE status = 'processed'`))
				require.Equal(t, events[1].ID, persistencetest.Value[string](d, `SELECT event_id::text FROM idempotency_keys`), "the later one has the key")
			})
		}
	}
}

// An event that Temporal never accepts is no duplicate of one that was received a window later.
func TestAnEventBeforeItsOwnersWindowIsBuried(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	first := receipt()
	first.DedupeWindow = event.Duration(15 * time.Minute)
	_, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, first, body, false)
	require.NoError(t, err)
	d.Process(sameKey(first, 20*time.Minute), parsed())
	var seen []event.Waiting
	_, err = d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 1, persistencetest.SettleAll(event.StartOutcome{Dead: &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: "not_startable", Attempts: 1, At: noon,
	}}, &seen))
	require.NoError(t, err)
	require.Equal(t, first.ID, persistencetest.Value[string](d, `SELECT event_id::text FROM dead_letters`))
}

// The inbox, too, distinguishes another event of a key from a redelivery.
func TestTheInboxTellsConflicts(t *testing.T) {
	t.Parallel()
	d := persistencetest.Open(t)
	w := d.Inbox.NewInboxWriter()
	first := receipt()
	first.Fingerprint = "sha256:a"
	same, other := sameKey(first, time.Minute), sameKey(first, time.Minute)
	same.Fingerprint, other.Fingerprint = "sha256:a", "sha256:b"
	for _, r := range []event.Receipt{first, same} {
		stored, err := w.Spool(t.Context(), event.LaneOverflow, r, body, false)
		require.NoError(t, err)
		require.Equal(t, r.ID == first.ID, stored)
	}
	_, err := w.Spool(t.Context(), event.LaneBulk, other, body, false)
	var conflict *event.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, first.ID, conflict.Conflict.Owner)
	require.EqualValues(t, 1, persistencetest.Value[int64](d, `SELECT count(*) FROM inbox`))
}
