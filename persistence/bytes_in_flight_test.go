package persistence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

// Whatever reads many events at once gets at most 16 MiB of their bodies from PostgreSQL: with 30 events of 1.5 MiB, and with large
// ones of 15 and 10 MiB one after the other. What doesn't fit never leaves the server.
func TestBytesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	const inline, mib = event.MaxInline, 1 << 20
	parse := func(event.Receipt, []byte) (event.Parsed, error) { return parsed(), nil }
	ctx := t.Context()
	for _, c := range []struct {
		name  string
		sizes []int // of the bodies; nil means 30 of 1.5 MiB
		fill  func(d *database, sizes []int)
		read  func(d *database) error
	}{
		{"rebuild", []int{15 * mib, 10 * mib, mib}, fillProcessed, func(d *database) error {
			_, err := d.Rebuilds.Page(ctx, "rebuild", 500, parse)
			return err
		}},
		{"rebuild of many", nil, fillProcessed, func(d *database) error {
			_, err := d.Rebuilds.Page(ctx, "rebuild", 500, parse)
			return err
		}},
		{"fetches of a rebuild", nil, fillProcessed, func(d *database) error {
			_, err := d.Rebuilds.Unfetched(ctx, "rebuild", 500)
			return err
		}},
		{"drain of the inbox", nil, fillInbox(event.LaneOverflow), func(d *database) error {
			n, err := d.Inbox.DrainInbox(ctx, event.LaneOverflow, 30, all(event.StartOutcome{Started: true}, &[]event.Waiting{}))
			require.Equal(d.t, 30, n, "there is more")
			depth, _ := d.Inbox.InboxDepth(ctx)
			require.EqualValues(d.t, 20, depth[event.LaneOverflow].Depth, "what wasn't read waits")
			return err
		}},
		{"batch", nil, fillInbox(event.LaneBulk), func(d *database) error {
			events, err := d.Writer.ProcessBatch(ctx, 100, newBatchRun(), parse)
			require.Len(d.t, events, 10)
			return err
		}},
		{"reconcile", []int{15 * mib, 10 * mib, mib}, fillUnfinished, func(d *database) error {
			_, err := d.DeadLetters.Unfinished(ctx, persistencetest.AllRows(200))
			return err
		}},
		{"resend", []int{15 * mib, 10 * mib, mib}, fillResend, func(d *database) error {
			_, err := d.Resends.Page(ctx, "resend", 500)
			return err
		}},
		{"resend of many", nil, fillResend, func(d *database) error {
			r, err := d.Resends.Page(ctx, "resend", 500)
			require.EqualValues(d.t, 10, r.Read)
			require.Equal(d.t, operation.Running, r.State, "there is more")
			return err
		}},
		{"replay", nil, fillReplay, func(d *database) error {
			page, err := d.Replays.ClaimPage(ctx, "replay", 20, 100)
			require.Equal(d.t, 10, len(page.DeadLetters)) //nolint:testifylint // Len prints the bodies
			return err
		}},
		{"automatic replay", nil, fillReplay, func(d *database) error {
			d.exec(`UPDATE dead_letters SET next_replay_at = now() - interval '1 hour', error_class = 'failed'`)
			page, err := d.DeadLetters.ClaimDue(ctx, "owner", persistencetest.Automatic, 20, 100)
			require.Equal(d.t, 10, len(page.DeadLetters)) //nolint:testifylint // Len prints the bodies
			return err
		}},
		{"claimed replay", nil, fillReplay, func(d *database) error {
			d.exec(`UPDATE dead_letters SET state = 'replaying', replaying_since = now(), replay_id = 'replay'`)
			letters, err := d.DeadLetters.Unstarted(ctx, "replay", 20)
			require.Equal(d.t, 10, len(letters)) //nolint:testifylint // Len prints the bodies
			return err
		}},
		{"archive", []int{15 * mib, 10 * mib, mib}, fillProcessed, func(d *database) error {
			_, err := d.Upkeep.Outdated(ctx, retention.Events, time.Now().Add(time.Hour))
			return err
		}},
		{"archive of many", nil, fillProcessed, func(d *database) error {
			_, err := d.Upkeep.Outdated(ctx, retention.Events, time.Now().Add(time.Hour))
			return err
		}},
		{"archive of dead letters", []int{15 * mib, 10 * mib, mib}, fillDiscarded, func(d *database) error {
			_, err := d.Upkeep.Outdated(ctx, retention.DeadLetters, time.Now().Add(time.Hour))
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tap := &wiretap{}
			d := open(t, func(cfg *persistence.Config) {
				tap.server = cfg.URL
				cfg.URL = tap.listen(t)
			})
			if c.sizes == nil {
				for range 30 {
					c.sizes = append(c.sizes, inline)
				}
			}
			c.fill(d, c.sizes)
			before := tap.received.Load()
			require.NoError(t, c.read(d))
			received := tap.received.Load() - before
			require.Greater(t, received, int64(10*mib), "it reads bodies")
			require.Less(t, received, int64(17*mib))
		})
	}
}

// A resend and its plan read every event, however large, a few at a time.
func TestAResendReadsAllLargeEvents(t *testing.T) {
	t.Parallel()
	d := open(t)
	fillResend(d, []int{10 << 20, 12 << 20, 1, 20 << 20, 1})
	plan, err := d.Resends.Plan(t.Context(), "crm", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), 0)
	require.NoError(t, err)
	require.EqualValues(t, 5, plan.Matching)
	r := d.resend("resend", 500)
	require.Equal(t, []int64{5, 5}, []int64{r.Read, r.Queued})
	require.Equal(t, operation.Completed, r.State)
}

func (d *database) sizeBodies(table, column string, ids []string, sizes []int) {
	for i, id := range ids {
		d.exec(`UPDATE `+table+` SET raw_body = convert_to(repeat('x', $2), 'UTF8') WHERE `+column+` = $1::uuid`, id, sizes[i])
	}
}

func fillProcessed(d *database, sizes []int) {
	var ids []string
	for range sizes {
		r := receipt()
		d.process(r, parsed())
		ids = append(ids, r.ID)
	}
	d.sizeBodies("events", "id", ids, sizes)
	d.createRebuild("rebuild", operation.RebuildFilter{}, false)
}

func fillInbox(lane event.Lane) func(d *database, sizes []int) {
	return func(d *database, sizes []int) {
		var ids []string
		for _, r := range d.spool(lane, len(sizes)) {
			ids = append(ids, r.ID)
		}
		d.sizeBodies("inbox", "event_id", ids, sizes)
	}
}

func fillUnfinished(d *database, sizes []int) {
	var ids []string
	for range sizes {
		ids = append(ids, d.shared().Stored(body).ID)
	}
	d.sizeBodies("events", "id", ids, sizes)
}

func fillDiscarded(d *database, sizes []int) {
	var ids []string
	for range sizes {
		r := receipt()
		d.record(deadLetter(r))
		ids = append(ids, r.ID)
	}
	d.sizeBodies("dead_letters", "event_id", ids, sizes)
	d.exec(`UPDATE dead_letters SET state = 'discarded', discarded_at = now(), discarded_by = 'ada', discard_reason = 'a test'`)
}

// fillResend makes a resend to a subscription whose filter reads bodies.
func fillResend(d *database, sizes []int) {
	d.subscribe("crm", delivery.Events{Filter: ".type == .type"})
	d.exec(`DELETE FROM delivery_queue`)
	fillProcessed(d, sizes)
	d.exec(`DELETE FROM delivery_queue`)
	d.settled()
	d.createResend("resend", "crm", false)
}

func fillReplay(d *database, sizes []int) {
	var ids []string
	for range sizes {
		r := receipt()
		d.record(deadLetter(r))
		ids = append(ids, r.ID)
	}
	d.sizeBodies("dead_letters", "event_id", ids, sizes)
	d.shared().CreateReplay("replay", operation.ReplayFilter{})
}
