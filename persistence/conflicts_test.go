package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
)

// sameKey returns another event with the same key, received later.
func sameKey(r event.Receipt, later time.Duration) event.Receipt {
	other := receipt()
	other.Key, other.DedupeWindow, other.ReceivedAt = r.Key, r.DedupeWindow, r.ReceivedAt.Add(later)
	return other
}

func (d *database) conflicts() []event.Conflict {
	d.t.Helper()
	all, err := d.Read.Conflicts(d.t.Context(), event.ConflictQuery{Provider: "acme"})
	require.NoError(d.t, err)
	return all
}

// An event with the key of another one:
//   - counts as a duplicate, and is recorded as a conflict with both fingerprints, each once, however often it is tried
//   - is no conflict if it is another delivery of the first, or if no fingerprint is on record
func TestAnEventWithTheKeyOfAnotherIsAConflict(t *testing.T) {
	t.Parallel()
	d := open(t)
	first := receipt()
	first.Fingerprint = "sha256:a"
	d.process(first, parsed())
	same, other, unknown := sameKey(first, time.Minute), sameKey(first, 2*time.Minute), sameKey(first, 3*time.Minute)
	same.Fingerprint, other.Fingerprint, other.Source = "sha256:a", "sha256:b", "shop-1"
	for _, r := range []event.Receipt{same, other, other, unknown} {
		persisted, err := d.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.NoError(t, err)
		require.True(t, persisted.Duplicate)
		require.Equal(t, first.ID, persisted.Owner)
		require.Equal(t, r.ID == other.ID, persisted.Conflict != nil)
	}
	all := d.conflicts()
	require.Len(t, all, 1)
	require.Equal(t, event.Conflict{
		ID: all[0].ID, Provider: "acme", Source: "shop-1", Key: first.Key, Type: first.Type, EventID: other.ID, Owner: first.ID,
		OwnerFingerprint: "sha256:a", Fingerprint: "sha256:b", FirstSeen: other.ReceivedAt, LastSeen: other.ReceivedAt, Times: 1,
	}, all[0])
	again := sameKey(first, time.Hour)
	again.Fingerprint = "sha256:b"
	_, err := d.Writer.Write(t.Context(), event.RowOnly, again, body, parsed(), runOf(again))
	require.NoError(t, err)
	require.EqualValues(t, 2, d.conflicts()[0].Times)
	require.Equal(t, other.ReceivedAt, d.conflicts()[0].FirstSeen)
	require.Equal(t, again.ReceivedAt, d.conflicts()[0].LastSeen)
	require.EqualValues(t, 1, d.purge(retention.Errors, again.ReceivedAt.Add(time.Second)))
	require.Empty(t, d.conflicts())
}

// Whether the first event of a key is processed in one step, in a batch, or in two steps: its fingerprint is on record.
func TestEveryClaimKeepsTheFingerprint(t *testing.T) {
	t.Parallel()
	d := open(t)
	direct, batched, stepwise := receipt(), receipt(), receipt()
	for _, r := range []*event.Receipt{&direct, &batched, &stepwise} {
		r.Fingerprint = "sha256:" + r.ID
	}
	persisted, err := d.Writer.Write(t.Context(), event.WholeEvent, direct, body, parsed(snapshot("1", `{}`)), runOf(direct))
	require.NoError(t, err)
	require.True(t, persisted.Processed)
	d.bulk(batched)
	d.batch(event.Run{WorkflowID: "batch/1", RunID: "1"}, nil)
	d.process(stepwise, parsed())
	for _, r := range []event.Receipt{direct, batched, stepwise} {
		require.Equal(t, r.Fingerprint, value[string](d, `SELECT fingerprint FROM idempotency_keys WHERE event_id = $1::uuid`, r.ID))
	}
}

// Two events of a key are in the inbox, the second beyond the window of the first:
//   - both are kept, in either lane, and a redelivery of each is a duplicate
//   - both are stored in the end, whichever is first
func TestTheInboxKeepsTheDedupeWindow(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]int{"in order": {0, 1}, "the later one first": {1, 0}} {
		for _, lane := range []event.Lane{event.LaneOverflow, event.LaneBulk} {
			t.Run(name+" "+string(lane), func(t *testing.T) {
				t.Parallel()
				d := open(t)
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
				n, err := d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 1, all(event.StartOutcome{Started: true}, &seen))
				require.NoError(t, err)
				if lane == event.LaneBulk {
					for range events { // one event of a key at a time
						require.Len(t, d.batch(newBatchRun(), nil), 1)
					}
					require.Zero(t, value[int64](d, `SELECT count(*) FROM inbox`))
					require.EqualValues(t, 2, value[int64](d, `SELECT count(*) FROM events`))
					return
				}
				require.Equal(t, 1, n)
				require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM inbox`), "the other one stays")
				for _, i := range order {
					d.process(events[i], parsed(snapshot("1", `{}`)))
				}
				require.EqualValues(t, 2, value[int64](d, `SELECT count(*) FROM events WHERE status = 'processed'`))
				require.Equal(t, events[1].ID, value[string](d, `SELECT event_id::text FROM idempotency_keys`), "the later one has the key")
			})
		}
	}
}

// An event that Temporal never accepts is no duplicate of one that was received a window later.
func TestAnEventBeforeItsOwnersWindowIsBuried(t *testing.T) {
	t.Parallel()
	d := open(t)
	first := receipt()
	first.DedupeWindow = event.Duration(15 * time.Minute)
	_, err := d.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, first, body, false)
	require.NoError(t, err)
	d.process(sameKey(first, 20*time.Minute), parsed())
	var seen []event.Waiting
	_, err = d.Inbox.DrainInbox(t.Context(), event.LaneOverflow, 1, all(event.StartOutcome{Dead: &event.Failure{
		Step: event.StepStart, Class: event.ClassRejected, Code: "not_startable", Attempts: 1, At: noon,
	}}, &seen))
	require.NoError(t, err)
	require.Equal(t, first.ID, value[string](d, `SELECT event_id::text FROM dead_letters`))
}

// The inbox, too, distinguishes another event of a key from a redelivery.
func TestTheInboxTellsConflicts(t *testing.T) {
	t.Parallel()
	d := open(t)
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
	require.EqualValues(t, 1, value[int64](d, `SELECT count(*) FROM inbox`))
}
