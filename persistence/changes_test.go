package persistence_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/retention"
	"holdfast/internal/ledger"
)

// told reads the feed until it has n more changes. Transactions of other tests on this server delay it for a while.
func (d *database) told(after feed.Cursor, n int) (all []feed.Change, next feed.Cursor) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		p, err := d.Changes.Changes(d.t.Context(), after, 7)
		require.NoError(d.t, err)
		all, after = append(all, p.Items...), p.Next
		return len(all) >= n && !p.More
	}, time.Minute, 5*time.Millisecond)
	return all, after
}

// brief formats changes without IDs and times.
func brief(all []feed.Change) (lines []string) {
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("%s %s", c.Subject, c.Action))
	}
	return lines
}

func (d *database) now() feed.Cursor {
	d.t.Helper()
	c, err := d.Changes.Now(d.t.Context())
	require.NoError(d.t, err)
	return c
}

func TestTheFeedTellsOfEventsAndEntities(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.mustProcess(r, parsed(snapshot("1", `{"n":1}`), patch("2", `{}`)))
	all, next := db.told(feed.Cursor{}, 3)
	require.Equal(t, []string{"event processed", "entity created", "entity created"}, brief(all))
	require.Equal(t, feed.Change{
		Subject: feed.Event, Action: feed.Processed, Provider: "acme", Kind: "thing.changed", ID: r.ID,
		At: all[0].At, Cursor: all[0].Cursor,
	}, all[0])
	require.Equal(t, feed.Change{
		Subject: feed.Entity, Action: feed.Created, Provider: "acme", Kind: "thing", ID: "1", EventID: r.ID,
		Revision: all[1].Revision, At: all[1].At, Cursor: all[1].Cursor,
	}, all[1])
	require.WithinDuration(t, time.Now(), all[0].At, time.Minute)

	db.mustProcess(r, parsed(snapshot("1", `{"n":1}`), patch("2", `{}`))) // again
	db.mustProcess(receipt(), parsed(patch("1", `{}`)))                   // a mention
	gone := snapshot("1", `{}`)
	gone.Op = event.OpDelete
	db.mustProcess(receipt(), parsed(gone))
	ignored := parsed()
	ignored.Outcome = event.OutcomeIgnored
	_, err := db.Writer.Write(t.Context(), event.WholeEvent, receipt(), body, ignored, event.Run{})
	require.NoError(t, err)
	db.process(receipt(), parsed(patch("2", `{"n":2}`)))
	all, next = db.told(next, 7)
	require.Equal(t, []string{
		"event processed", "event processed", "entity deleted", "event ignored", "event persisted", "event processed", "entity changed",
	}, brief(all))

	_, err = db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
	require.NoError(t, err)
	all, _ = db.told(next, 1)
	require.Equal(t, "event expunged", brief(all)[0])
}

// An entity that is created again starts with a higher revision than it had.
func TestRevisionsRiseThroughTheLivesOfAnEntity(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.mustProcess(r, parsed(snapshot("1", `{"n":1}`)))
	db.mustProcess(r, parsed(snapshot("1", `{"n":2}`)))
	db.mustProcess(r, parsed())
	db.mustProcess(receipt(), parsed(snapshot("1", `{"n":1}`)))
	all, _ := db.told(feed.Cursor{}, 6)
	of := feed.Filter{Subject: feed.Entity}.Select(all)
	require.Equal(t, []string{"entity created", "entity changed", "entity removed", "entity created"}, brief(of))
	require.Equal(t, of[0].Revision+1, of[1].Revision)
	require.Equal(t, of[1].Revision+1, of[2].Revision)
	require.Greater(t, of[3].Revision, of[2].Revision)
	require.Equal(t, of[3].Revision, value[int64](db, `SELECT revision FROM entities`))
}

func TestTheFeedReportsDeadLetters(t *testing.T) {
	t.Parallel()
	db := open(t)
	r, id := db.shared().Letter()
	require.NoError(t, db.DeadLetters.DiscardDeadLetter(t.Context(), id, ada))
	require.NoError(t, db.DeadLetters.ReopenDeadLetter(t.Context(), id, ada))
	db.take(id)
	require.NoError(t, db.DeadLetters.Release(t.Context(), "", id))
	again := died(r, time.Now())
	again.Run = anotherRun(r)
	db.record(again)
	db.mustProcess(r, parsed())
	all, _ := db.told(feed.Cursor{}, 8)
	of := feed.Filter{Subject: feed.DeadLetter}.Select(all)
	require.Contains(t, brief(all), "event discarded")
	require.Equal(t, []string{
		"dead_letter opened", "dead_letter discarded", "dead_letter reopened", "dead_letter replaying", "dead_letter resolved",
	}, slices.DeleteFunc(brief(of), func(line string) bool {
		return line == "dead_letter released" || line == "dead_letter failed"
	}))
	require.Equal(t, fmt.Sprint(id), of[0].ID)
	require.Equal(t, r.ID, of[0].EventID)
	require.NotEmpty(t, of[0].Code)
}

func TestTheFeedTellsOfDeliveries(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.destination(1, delivery.Destination{})
	ids := db.queue(1, 4)
	jobs := db.lease(10, 10)
	require.Len(t, jobs, 4)
	start := db.now()
	db.settle(became(jobs[0], delivery.OK, "200"))
	final := became(jobs[1], delivery.Final, "400")
	final.Dead = true
	db.settle(final)
	db.settle(became(jobs[2], delivery.Bad, "500"))
	_, err := db.Outbox.CancelDelivery(t.Context(), jobs[3].Key, ada)
	require.NoError(t, err)
	all, _ := db.told(start, 5) // one is about the dead letter
	of := feed.Filter{Subject: feed.Delivery}.Select(all)
	require.Equal(t, []string{"delivery delivered", "delivery failed", "delivery retrying", "delivery canceled"}, brief(of))
	require.Contains(t, ids, of[0].EventID)
	require.Equal(t, fmt.Sprintf("%s/%d", of[0].EventID, of[0].SubscriptionID), of[0].ID)
	require.Equal(t, "400", of[1].Code)
}

// A transaction that began to write first comes first, however late it commits, and what follows it waits for it.
func TestNothingIsMissedThatCommitsLate(t *testing.T) {
	t.Parallel()
	db := open(t)
	start := db.now()
	slow, err := connect(t, db.url).Begin(t.Context())
	require.NoError(t, err)
	_, err = slow.Exec(t.Context(), `SELECT pg_current_xact_id()`)
	require.NoError(t, err)

	db.mustProcess(receipt(), parsed())
	p, err := db.Changes.Changes(t.Context(), start, 10)
	require.NoError(t, err)
	require.Empty(t, p.Items, "something before it may still come")
	lag, err := db.Changes.FeedLag(t.Context())
	require.NoError(t, err)
	require.Positive(t, lag.Behind)
	require.NotEmpty(t, lag.Blockers)

	_, err = slow.Exec(t.Context(), `
INSERT INTO changes (n, items) VALUES (1, '[{"subject":"entity","action":"changed","id":"late"}]')`)
	require.NoError(t, err)
	require.NoError(t, slow.Commit(t.Context()))
	all, _ := db.told(p.Next, 2)
	require.Equal(t, []string{"entity changed", "event processed"}, brief(all))
}

// A client that reads during many writes, in pages of any size, and again from any position, sees each change once and in one
// order, and each revision of an entity.
func TestTheFeedIsWholeWhileManyWrite(t *testing.T) {
	t.Parallel()
	db := open(t)
	const writers, each = 6, 30
	var group errgroup.Group
	for n := range writers {
		group.Go(func() error {
			for range each {
				p := parsed(patch(fmt.Sprint(rand.IntN(4)), fmt.Sprintf(`{"w%d":%d}`, n, rand.Int())))
				if _, err := db.Writer.Write(t.Context(), event.WholeEvent, receipt(), body, p, event.Run{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var all []feed.Change
	at, done := feed.Cursor{}, make(chan error, 1)
	go func() { done <- group.Wait() }()
	for written := false; !written || len(all) < value[int](db, `SELECT sum(n) FROM changes`); {
		select {
		case err := <-done:
			require.NoError(t, err)
			written = true
		default:
		}
		p, err := db.Changes.Changes(t.Context(), at, 1+rand.IntN(9))
		require.NoError(t, err)
		keep := len(p.Items)
		if keep > 0 && rand.IntN(2) == 0 { // a killed reader continues from any change
			keep = 1 + rand.IntN(keep)
			p.Next = p.Items[keep-1].Cursor
		}
		all, at = append(all, p.Items[:keep]...), p.Next
	}
	require.Len(t, feed.Filter{Subject: feed.Event}.Select(all), writers*each)
	once, _ := db.told(feed.Cursor{}, len(all))
	require.Equal(t, once, all)
	revisions := map[string][]int64{}
	for _, c := range (feed.Filter{Subject: feed.Entity}).Select(all) {
		revisions[c.ID] = append(revisions[c.ID], c.Revision)
	}
	for id, seen := range revisions {
		slices.Sort(seen)
		require.Equal(t, seen[0]+int64(len(seen))-1, seen[len(seen)-1], "none is missing, none twice: %s", id)
		require.Equal(t, seen[len(seen)-1], value[int64](db, `SELECT revision FROM entities WHERE external_id = $1`, id))
	}
}

// After a dump is restored into another cluster, a failover or a snapshot, transaction IDs start again.
func TestAnotherLifeOfTheDatabaseBeginsAnEpoch(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.mustProcess(receipt(), parsed())
	_, old := db.told(feed.Cursor{}, 1)
	for _, life := range []string{
		`INSERT INTO changes (xid, n, items) SELECT ((i * 1000000000::bigint)::text)::xid8, 0, '[]' FROM generate_series(1, 3) AS i`,
		`UPDATE feed_head SET identity = 'another'`,
	} {
		db.exec(life)
		var group errgroup.Group
		for range 4 {
			group.Go(func() error { _, err := db.Changes.Changes(t.Context(), feed.Cursor{}, 10); return err })
		}
		require.NoError(t, group.Wait())
		_, err := db.Changes.Changes(t.Context(), old, 10)
		require.ErrorIs(t, err, feed.ErrResync)
		fresh := db.now()
		require.Equal(t, old.Epoch+1, fresh.Epoch, "one life, one epoch")
		db.mustProcess(receipt(), parsed())
		_, old = db.told(fresh, 1)
	}
	ahead := old
	ahead.XID += 1 << 40
	_, err := db.Changes.Changes(t.Context(), ahead, 10)
	require.ErrorIs(t, err, feed.ErrResync, "of a future that was lost")
}

func TestOldDaysOfTheFeedGo(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.mustProcess(receipt(), parsed())
	_, at := db.told(feed.Cursor{}, 1)
	db.exec(`UPDATE changes SET at = now() - interval '8 days'`)
	db.mustProcess(receipt(), parsed())
	all, next := db.told(at, 1)
	require.Len(t, all, 1)
	purge := func(before time.Time) int64 {
		n, err := db.Upkeep.PurgeBatchBy(t.Context(), retention.Changes, before, ada)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, purge(time.Now().Add(-7*24*time.Hour)), "the day has something that is young")
	db.exec(`UPDATE changes SET slot = (slot + 20) % 32 WHERE at < now() - interval '7 days'`)
	require.Positive(t, purge(time.Now().Add(-7*24*time.Hour)))
	require.Zero(t, purge(time.Now().Add(-7*24*time.Hour)))
	require.Equal(t, 1, value[int](db, `SELECT count(*) FROM changes`))
	_, err := db.Changes.Changes(t.Context(), next, 10)
	require.NoError(t, err)
	_, err = db.Changes.Changes(t.Context(), feed.Cursor{Epoch: at.Epoch, XID: 3}, 10)
	require.ErrorIs(t, err, feed.ErrResync)
	since, err := db.Changes.Since(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	all, _ = db.told(since, 1)
	require.Len(t, all, 1)
}

// A reader that is up to date isn't behind, however long there is no change, even if the last change it read was removed
// meanwhile.
func TestAnIdleReaderIsNeverBehind(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.mustProcess(receipt(), parsed())
	_, at := db.told(feed.Cursor{}, 1)
	_, at = db.told(at, 0) // it polls again without new changes
	db.exec(`UPDATE changes SET at = now() - interval '8 days'`)
	n, err := db.Upkeep.PurgeBatchBy(t.Context(), retention.Changes, time.Now().Add(-7*24*time.Hour), ada)
	require.NoError(t, err)
	require.Positive(t, n)
	_, err = db.Changes.Changes(t.Context(), at, 10)
	require.NoError(t, err)
	db.mustProcess(receipt(), parsed())
	all, _ := db.told(at, 1)
	require.Len(t, all, 1, "and misses nothing that comes then")
}

// A page reads as much as it returns, however many changes there are, also of one statement.
func TestAPageOfTheFeedIsSmallAndFast(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`
INSERT INTO changes (slot, xid, n, items, at)
SELECT i % 32, i::text::xid8, 2, '[{"subject":"event","id":"a"},{"subject":"event","id":"b"}]', now() - i * interval '1 s'
  FROM generate_series(3, 20000) AS i WHERE i < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`)
	db.exec(`ANALYZE changes`)
	db.exec(`SET enable_seqscan = off`)
	rows, err := db.sql.Query(t.Context(), `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF)
SELECT xid FROM changes WHERE (xid, seq) >= ('40'::xid8, 0) AND xid < pg_snapshot_xmin(pg_current_snapshot()) 
 ORDER BY xid, seq LIMIT 50`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, strings.Join(plan, "\n"), "Merge Append")
	require.NotContains(t, strings.Join(plan, "\n"), "Sort Method")

	head, err := db.sql.Query(t.Context(), `EXPLAIN `+statementsOfTheRooms(t)["changes.readHead"])
	require.NoError(t, err)
	lines, err := pgx.CollectRows(head, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, "\n"), "cost=1000000", "what must not be done costs as much, and is compiled each time")

	db.exec(`TRUNCATE changes`)
	db.exec(`
INSERT INTO changes (xid, n, items)
SELECT x::xid8, 1, json_build_array(json_build_object('id', x)) FROM unnest('{9,10,100}'::text[]) AS x`)
	p, err := db.Changes.Changes(t.Context(), feed.Cursor{}, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"9", "10", "100"}, []string{p.Items[0].ID, p.Items[1].ID, p.Items[2].ID})

	whole := `[` + strings.TrimSuffix(strings.Repeat(`{"subject":"entity","id":"x"},`, 1000), ",") + `]`
	start := db.now()
	db.exec(`INSERT INTO changes (n, items) VALUES (1000, $1)`, whole)
	all, _ := db.told(start, 1000)
	require.Len(t, all, 1000)
}

// Transaction IDs are compared as numbers, also where they get another digit.
func TestTheFeedContinuesWithLongerTransactionIDs(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`
INSERT INTO changes (slot, xid, n, items) VALUES
  (0, '99', 1, '[{"subject":"event","id":"0"}]'),
  (0, '100', 20, (SELECT json_agg(json_build_object('subject', 'event', 'id', i::text)) FROM generate_series(1, 20) AS i))`)
	all, _ := db.told(feed.Cursor{}, 21)
	require.Len(t, all, 21)
	for i, one := range all {
		require.Equal(t, fmt.Sprint(i), one.ID)
	}
}

// A role that writes changes need not own the table; one that may not delete rows may not drop days.
func TestARoleThatOwnsNothingTells(t *testing.T) {
	t.Parallel()
	db := open(t)
	name := "app" + value[string](db, `SELECT md5(current_database())`)
	db.exec(`CREATE ROLE ` + name)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), db.url)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), `DROP OWNED BY `+name+`; DROP ROLE `+name, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	})
	db.exec(`GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ` + name)
	db.exec(`SET SESSION AUTHORIZATION ` + name)
	db.exec(`INSERT INTO changes (n, items) VALUES (1, '[{}]')`)
	require.NotEmpty(t, value[string](db, `SELECT feed_identity()`))
	_, err := db.sql.Exec(t.Context(), `SELECT drop_changes(now())`)
	require.ErrorContains(t, err, "may not be removed")
	db.exec(`RESET SESSION AUTHORIZATION`)
}

// The check of a ledger finds changes missing from the feed.
func TestTheFeedOfALedger(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	b.process(b.sent(202), parsed()) // the first change of the day
	r := b.sent(202)
	b.process(r, parsed(patch("1", `{"n":1}`)))
	for range 2 {
		b.process(b.sent(202), parsed(patch("1", `{"n":2}`)))
	}
	b.finds(broken{})
	b.exec(`
DELETE FROM changes WHERE items::text LIKE '%' || $1 || '%"processed"%' OR items::text LIKE '%"processed"%' || $1 || '%'`, r.ID)
	b.finds(broken{ledger.Untold: {r.WorkflowID()}})
	b.exec(`DELETE FROM changes WHERE xid = (SELECT max(xid::text::bigint)::text::xid8 FROM changes)`)
	require.Contains(t, b.report().Finding(ledger.Untold).Examples, "acme/thing/1")
}
