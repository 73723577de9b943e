package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence"
)

// definition replaces today's definition: it maps an event's key to its parse.
type definition map[string]func() (event.Parsed, error)

func (d definition) parse(r event.Receipt, _ []byte) (event.Parsed, error) { return d[r.ID]() }

// reads sets the parse of an event.
func (d definition) reads(r event.Receipt, changes ...event.Change) {
	d[r.ID] = func() (event.Parsed, error) { return parsed(changes...), nil }
}

func (d definition) refuses(r event.Receipt) {
	d[r.ID] = func() (event.Parsed, error) { return event.Parsed{}, event.Rejectf("malformed_json", "no JSON") }
}

func (d *database) createRebuild(id string, f operation.RebuildFilter, dryRun bool) {
	d.t.Helper()
	r, err := d.Rebuilds.Create(d.t.Context(), operation.Rebuild{Base: operation.Base{ID: id, Rate: 50}, Filter: f, DryRun: dryRun},
		oversight.Actor{Name: "ada", Reason: "a test"})
	require.NoError(d.t, err)
	require.Equal(d.t, operation.Running, r.State)
}

// rebuild runs a new rebuild to its end.
func (d *database) rebuild(id string, f operation.RebuildFilter, dryRun bool, n int, parse event.Parser) operation.Rebuild {
	d.t.Helper()
	d.createRebuild(id, f, dryRun)
	return d.goOn(id, n, parse)
}

func (d *database) goOn(id string, n int, parse event.Parser) operation.Rebuild {
	d.t.Helper()
	for {
		r, err := d.Rebuilds.Page(d.t.Context(), id, n, parse)
		require.NoError(d.t, err)
		if r.State != operation.Running {
			return r
		}
	}
}

func (d *database) stateOf(ref event.EntityRef) string {
	d.t.Helper()
	e, err := d.Read.Entity(d.t.Context(), ref)
	require.NoError(d.t, err)
	return string(e.State)
}

// everything returns all rows that a rebuild without differences must not change.
func (d *database) everything() string {
	return value[string](d, `
SELECT concat_ws(E'\n',
       (SELECT string_agg(e::text, E'\n' ORDER BY id) FROM events AS e),
       (SELECT string_agg(l::text, E'\n' ORDER BY event_id, position) FROM event_entities AS l),
       (SELECT string_agg(x::text, E'\n' ORDER BY provider, kind, external_id) FROM entities AS x),
       (SELECT string_agg(c::text, E'\n' ORDER BY provider, kind, external_id, links) FROM entity_checkpoints AS c),
       (SELECT string_agg(k::text, E'\n' ORDER BY provider, key) FROM idempotency_keys AS k),
       (SELECT string_agg(d::text, E'\n' ORDER BY id) FROM dead_letters AS d))`)
}

func counts(r operation.Rebuild) string {
	return fmt.Sprintf("read %d changed %d unreadable %d skipped %d entities %d", r.Read, r.Changed, r.Unreadable, r.Skipped, r.Entities)
}

// A definition has parsed a field wrongly, and is corrected:
//   - a dry run counts the events and the entities, shows their new states, and changes no row
//   - the rebuild changes what the dry run has counted, undoes removed changes, and keeps times and runs
//   - events that today's definition can't parse stay unchanged, are reported, and become no dead letters
//   - a second rebuild finds nothing
func TestARebuildReadsEventsAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	var receipts []event.Receipt
	today := definition{}
	for i := range 7 {
		r := receipt()
		receipts = append(receipts, r)
		db.process(r, parsed(patch("1", fmt.Sprintf(`{"wrong":%d}`, i)), patch("same", `{"n":1}`)))
		today.reads(r, patch("1", fmt.Sprintf(`{"right":%d}`, i)), patch("same", `{"n":1.0}`))
	}
	today.reads(receipts[5], patch("2", `{"right":5}`))
	today.refuses(receipts[6])
	before := db.everything()

	dry := db.rebuild("dry", operation.RebuildFilter{}, true, 3, today.parse)
	require.Equal(t, "read 7 changed 6 unreadable 1 skipped 0 entities 3", counts(dry))
	require.Equal(t, before, db.everything())
	diffs, err := db.Rebuilds.Diff(t.Context(), "dry", today.parse)
	require.NoError(t, err)
	require.Equal(t, []fold.EntityDiff{
		{EntityRef: thing("1"), Fields: []fold.FieldDiff{{Path: "/right", New: json.RawMessage(`4`)}}},
		{EntityRef: thing("2"), Fields: []fold.FieldDiff{{Path: "/right", New: json.RawMessage(`5`)}}},
		{EntityRef: thing("same"), Fields: []fold.FieldDiff{{Path: "/n", Old: json.RawMessage(`1`), New: json.RawMessage(`1.0`)}}},
	}[:2], diffs[:2])

	first, err := db.Read.Event(t.Context(), receipts[0].ID)
	require.NoError(t, err)
	done := db.rebuild("real", operation.RebuildFilter{Provider: "acme"}, false, 3, today.parse)
	require.Equal(t, counts(dry), counts(done))
	require.Equal(t, operation.Completed, done.State)
	require.NotNil(t, done.EndedAt)
	require.InDelta(t, 1, done.Share(), 0)
	require.Equal(t, `{"right": 4, "wrong": 6}`, db.stateOf(thing("1")))
	require.Equal(t, `{"right": 5}`, db.stateOf(thing("2")))
	require.Equal(t, []operation.RebuildProblem{{
		EventID: receipts[6].ID, Provider: "acme", Class: event.ClassRejected, Code: "malformed_json", Message: "malformed_json: no JSON",
	}}, done.Problems)
	require.Zero(t, value[int](db, `SELECT count(*) FROM dead_letters`))
	again, err := db.Read.Event(t.Context(), receipts[0].ID)
	require.NoError(t, err)
	require.Equal(t, first.Run, again.Run)
	require.Equal(t, first.ProcessedAt, again.ProcessedAt)
	require.Equal(t, body, again.Body)

	after := db.everything()
	second := db.rebuild("second", operation.RebuildFilter{}, false, 3, today.parse)
	require.Equal(t, "read 7 changed 0 unreadable 1 skipped 0 entities 0", counts(second))
	require.Equal(t, after, db.everything())
	_, err = db.Rebuilds.Diff(t.Context(), "second", today.parse)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.Zero(t, value[int](db, `SELECT count(*) FROM rebuild_entities`), "what earlier ones have found is gone")
	require.Equal(t, []string{"rebuild.start", "rebuild.start", "rebuild.start"},
		value[[]string](db, `SELECT array_agg(action ORDER BY id) FROM audit_log`))
}

// A rebuild by provider and kind parses the events of the provider, and writes those that concern the kind, also if only today's
// definition or only the earlier one mentions it.
func TestARebuildOfAKind(t *testing.T) {
	t.Parallel()
	db := open(t)
	other := func(id string) event.Change {
		return event.Change{Kind: "other", ExternalID: id, Op: event.OpPatch, State: json.RawMessage(`{"n":1}`)}
	}
	today, receipts := definition{}, []event.Receipt{receipt(), receipt(), receipt(), receipt()}
	receipts[3].Provider = "else"
	db.process(receipts[0], parsed(patch("a", `{"n":1}`)))
	today.reads(receipts[0], patch("a", `{"n":2}`))
	db.process(receipts[1], parsed(patch("b", `{"n":1}`)))
	today.reads(receipts[1], other("b"))
	db.process(receipts[2], parsed(other("c")))
	today.reads(receipts[2], patch("c", `{"n":2}`))
	db.process(receipts[3], parsed(patch("d", `{"n":1}`)))
	today.reads(receipts[3], other("d"))

	r := db.rebuild("one", operation.RebuildFilter{Provider: "acme", Kind: "other"}, false, 20, today.parse)
	require.Equal(t, "read 3 changed 2 unreadable 0 skipped 0 entities 4", counts(r))
	require.Equal(t, `{"n": 1}`, db.stateOf(thing("a")))
	require.Equal(t, []string{"acme/other/b", "acme/thing/a", "acme/thing/c", "else/thing/d"}, value[[]string](db,
		`SELECT array_agg(concat_ws('/', provider, kind, external_id) ORDER BY provider, kind, external_id) FROM entities`))
}

// Events with a decision, unprocessed events, and events with an open dead letter are not changed; nor is an event that is
// received after the rebuild was created.
func TestARebuildLeavesAlone(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	decided, waiting, dead, later := receipt(), receipt(), receipt(), receipt()
	db.record(died(dead, noon))
	for _, r := range []event.Receipt{decided, dead} {
		db.process(r, parsed(patch("1", `{"n":1}`)))
	}
	_, err := db.Writer.Write(t.Context(), event.RowOnly, waiting, body, parsed(patch("1", `{"n":1}`)), runOf(waiting))
	require.NoError(t, err)
	db.exec(`UPDATE dead_letters SET state = 'open', resolved_at = NULL, resolved_run_id = NULL`)
	db.exec(`INSERT INTO decisions (event_id, decision, by, reason) VALUES ($1, 'discarded', 'ada', 'no')`, decided.ID)
	for _, r := range []event.Receipt{decided, waiting, dead, later} {
		today.reads(r, patch("1", `{"n":2}`))
	}
	db.createRebuild("one", operation.RebuildFilter{}, false)
	db.process(later, parsed(patch("1", `{"n":3}`)))
	letters := value[string](db, `SELECT d::text FROM dead_letters AS d`)

	r := db.goOn("one", 20, today.parse)
	require.Equal(t, "read 2 changed 1 unreadable 0 skipped 1 entities 1", counts(r))
	require.Equal(t, letters, value[string](db, `SELECT d::text FROM dead_letters AS d`))
	require.Equal(t, event.StatusPersisted, db.status(waiting.ID))
	require.Equal(t, `{"n": 3}`, db.stateOf(thing("1")))
}

// One rebuild at a time, with the states of a replay: paused it does nothing, resumed it continues, canceled it stays so.
func TestTheLifeOfARebuild(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	for range 3 {
		r := receipt()
		db.process(r, parsed(patch("1", `{"n":1}`)))
		today.reads(r, patch("1", `{"n":2}`))
	}
	db.createRebuild("one", operation.RebuildFilter{}, false)
	_, err := db.Rebuilds.Create(t.Context(), operation.Rebuild{Base: operation.Base{ID: "two", Rate: 1}}, oversight.Actor{})
	require.Equal(t, "rebuild_runs", event.CodeOf(err))
	change := func(to operation.State) error {
		_, err := db.Rebuilds.Change(t.Context(), "one", to, oversight.Actor{Name: "ada"})
		return err
	}
	page := func() operation.Rebuild {
		r, err := db.Rebuilds.Page(t.Context(), "one", 1, today.parse)
		require.NoError(t, err)
		return r
	}

	require.EqualValues(t, 1, page().Read)
	require.NoError(t, change(operation.Paused))
	require.EqualValues(t, 1, page().Read)
	active, err := db.Rebuilds.Active(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, active)
	require.NoError(t, change(operation.Running))
	require.EqualValues(t, 2, page().Read)
	require.NoError(t, change(operation.Canceled))
	require.EqualValues(t, 2, page().Read)
	require.Equal(t, "rebuild_ended", event.CodeOf(change(operation.Running)))

	r := db.rebuild("two", operation.RebuildFilter{}, false, 20, today.parse)
	require.Equal(t, "read 3 changed 1 unreadable 0 skipped 0 entities 1", counts(r))
	all, err := db.Rebuilds.Latest(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "two", all[0].ID)
	_, err = db.Rebuilds.Read(t.Context(), "none")
	require.ErrorIs(t, err, event.ErrNotFound)
}

// One event of a page can't be written: the others of its page are, and it is reported.
func TestARebuildSkipsUnwritableEvents(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	large, other := snapshot("2", `{"text":"`+strings.Repeat("x", 15<<19)+`"}`), receipt()
	db.process(other, parsed(large))
	today.reads(other, large)
	for i := range 5 {
		r := receipt()
		db.process(r, parsed(patch(fmt.Sprint(i), `{"n":1}`)))
		today.reads(r, patch(fmt.Sprint(i), `{"n":2}`))
		if i == 2 {
			today.reads(r, patch("2", numberBomb("a", 20_000)))
		}
	}
	r := db.rebuild("one", operation.RebuildFilter{}, false, 2, today.parse)
	require.Equal(t, "read 6 changed 4 unreadable 1 skipped 0 entities 4", counts(r))
	require.Equal(t, "entity_too_large", r.Problems[0].Code)
	require.NotContains(t, db.stateOf(thing("2")), `"a"`)
	require.Equal(t, `{"n": 2}`, db.stateOf(thing("3")))
}

// The attempts of a page are killed at any time, run twice at the same time, and live events change the same entities:
//   - each event counts once, and entities are the fold of what is linked to them
func TestARebuildBesideLiveTraffic(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	for i := range 60 {
		r := receipt()
		change := patch(fmt.Sprint(i%3), fmt.Sprintf(`{"wrong":%d}`, i))
		db.process(r, parsed(change))
		today.reads(r, patch(fmt.Sprint(i%3), fmt.Sprintf(`{"right":%d}`, i)))
	}
	db.createRebuild("one", operation.RebuildFilter{}, false)

	var live, pages errgroup.Group
	var stop atomic.Bool
	for w := range 2 {
		live.Go(func() error {
			for i := 0; i < 200 && !stop.Load(); i++ {
				r := receipt()
				if _, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, parsed(patch(fmt.Sprint(i%3), fmt.Sprintf(`{"live%d":%d}`, w, i))), runOf(r)); err != nil {
					if event.ClassOf(err) != event.ClassTransient {
						return err
					}
				}
			}
			return nil
		})
		pages.Go(func() error { return db.rebuildWhileKilled(t, w, today) })
	}
	require.NoError(t, pages.Wait())
	stop.Store(true)
	require.NoError(t, live.Wait())

	r, err := db.Rebuilds.Read(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, "read 60 changed 60 unreadable 0 skipped 0 entities 3", counts(r))
	for i := range 3 {
		ref := thing(fmt.Sprint(i))
		links, err := db.Read.Timeline(t.Context(), ref)
		require.NoError(t, err)
		var changes []event.OrderedChange
		for _, l := range links {
			changes = append(changes, event.OrderedChange{
				Order:  event.Order{Version: l.Version, OccurredAt: l.OccurredAt, EventID: l.EventID},
				Change: event.Change{Kind: l.Kind, ExternalID: l.ExternalID, Op: l.Op, State: l.State},
			})
		}
		folded, err := fold.Of(ref, changes)
		require.NoError(t, err)
		require.JSONEq(t, string(folded.State), db.stateOf(ref))
		require.NotContains(t, string(folded.State), "wrong")
	}
}

// rebuildWhileKilled runs pages, the first of which have little time, until the rebuild has ended.
func (d *database) rebuildWhileKilled(t *testing.T, seed int, today definition) error {
	for i := 0; ; i++ {
		alive := time.Minute
		if i < 30 {
			alive = time.Duration((seed+i*7)%50+1) * time.Millisecond
		}
		page, kill := context.WithTimeout(t.Context(), alive)
		r, err := d.Rebuilds.Page(page, "one", 7, today.parse)
		kill()
		if err == nil && r.State != operation.Running {
			return nil
		}
		if err != nil && event.ClassOf(err) != event.ClassTransient {
			return err
		}
		if t.Context().Err() != nil {
			return t.Context().Err()
		}
	}
}

// The diff of a dry run reads the changes of its entities by an index, however many changes others have.
func TestADiffReadsOnlyItsEntities(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT gen_random_uuid(), 'acme', 'thing', 't' || i % 5000, 1, 'snapshot', '{"n":1}', $1::timestamptz
  FROM generate_series(1, 50000) AS i`, noon)
	db.exec(`INSERT INTO rebuilds (id, provider, kind, dry_run, rate, started_by) VALUES ('dry', '', '', true, 10, 'ada')`)
	db.exec(`INSERT INTO rebuild_entities VALUES ('dry', 'acme', 'thing', 't7', '{}')`)
	db.exec(`VACUUM (ANALYZE) event_entities`)
	found, err := db.Rebuilds.Diff(t.Context(), "dry", func(event.Receipt, []byte) (p event.Parsed, err error) { return p, nil })
	require.NoError(t, err)
	require.Len(t, found, 1)
	plan := seen.planOf(t, db, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ",
		func(sql string) bool { return strings.Contains(sql, "ORDER BY l.event_id, position") })
	require.Less(t, blocksRead(t, plan), 100, plan)
}
