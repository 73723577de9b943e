package persistence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/retention"
)

// lives holds a few entities with many changes, and their states according to a naive fold.
type lives struct {
	*database
	random *rand.Rand
	clock  time.Time
	every  int64
	said   map[string]stored       // the latest parse of each event, by event
	given  map[string]stored       // events that were discarded
	purged map[string]map[int]bool // unlinked changes, by event

	// collapsed holds the changes of each entity that its base covers, without those that came before the base later. ends holds
	// their last order.
	collapsed  map[event.EntityRef][]event.OrderedChange
	ends       map[event.EntityRef]event.Order
	seen       int // checkpoints
	broken     map[event.EntityRef]bool
	incomplete int // checked entities that were incomplete
	unknown    int // states at a point in time that were unknown
	arrived    []string
	ids        []string            // of entities that may be aged
	keeps      bool                // nothing is purged
	change     func() event.Change // a change of one of the entities
}

func newLives(t *testing.T, seed uint64) *lives {
	l := &lives{
		database: open(t), random: rand.New(rand.NewPCG(seed, 12)), clock: noon, every: 2 + int64(seed%4),
		said: map[string]stored{}, given: map[string]stored{}, purged: map[string]map[int]bool{}, ids: []string{"0", "1", "2"},
		broken:    map[event.EntityRef]bool{},
		collapsed: map[event.EntityRef][]event.OrderedChange{}, ends: map[event.EntityRef]event.Order{},
	}
	l.change = l.changeOfThing
	l.CheckpointEvery(l.every)
	return l
}

// Whatever happens to entities with many changes, their checkpoints equal a naive fold of their links, and so do their states at
// any point in time: changes in and out of order, in one transaction and concurrent, in bulk, parsed again, ignored, discarded,
// reopened, expunged, purged; resets, deletes, mentions, versions; rows of a release without counts.
func TestCheckpointsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			l := newLives(t, seed)
			for step := range 160 {
				l.step()
				if step%8 == 0 {
					l.requireModel(fmt.Sprint("step ", step))
				}
			}
			l.requireModel("the end")
			require.Positive(t, l.seen)
			require.Positive(t, value[int](l.database, `SELECT count(*) FROM entity_bases`))
			require.Positive(t, l.incomplete)
		})
	}
}

func (l *lives) step() {
	switch n := l.random.IntN(26); {
	case n < 11 || len(l.arrived) == 0:
		l.process(l.next())
	case n < 15:
		l.processAtOnce()
	case n < 17:
		again := l.said[l.any()]
		again.parsed = l.next().parsed
		l.process(again)
	case n < 18:
		l.discard(l.any())
	case n < 19 && len(l.given) > 0:
		l.reopen()
	case n < 21:
		l.purgeSome()
	case n < 22:
		l.ageEntity()
	case n < 24:
		l.processInBulk()
	default:
		id := l.any()
		if _, err := l.Upkeep.Expunge(l.t.Context(), id, 0, ada); !errors.Is(err, event.ErrNotFound) {
			require.NoError(l.t, err)
		}
		l.take(id)
	}
}

// next returns an event that is in order, or slightly or very out of order.
func (l *lives) next() stored {
	l.clock = l.clock.Add(time.Second)
	late := time.Duration(0)
	switch l.random.IntN(6) {
	case 0:
		late = time.Duration(l.random.IntN(10)) * time.Second
	case 1:
		late = time.Duration(l.random.IntN(200)) * time.Second
	}
	var id uuid.UUID
	for i := range id {
		id[i] = byte(l.random.UintN(256))
	}
	s := stored{receiptAt(l.clock), parsed()}
	s.receipt.ID, s.parsed.OccurredAt = id.String(), l.clock.Add(-late)
	for range 1 + l.random.IntN(3) {
		s.parsed.Changes = append(s.parsed.Changes, l.change())
	}
	return s
}

func (l *lives) changeOfThing() event.Change {
	c := event.Change{Kind: "thing", Op: event.OpPatch, ExternalID: fmt.Sprint(l.random.IntN(3))}
	switch n := l.random.IntN(30); {
	case n == 0:
		c.Op = event.OpSnapshot
	case n == 1:
		c.Op = event.OpDelete
	case n < 10:
		c.State = json.RawMessage(`{}`)
		return c
	}
	c.State = fmt.Appendf(nil, `{"f%d":%d,"g":{"h%d":null,"h%d":%d}}`, l.random.IntN(9), l.random.IntN(99), l.random.IntN(3), l.random.IntN(3),
		l.random.IntN(99))
	if c.ExternalID == "2" && l.random.IntN(2) == 0 {
		c.Version = pointer(int64(l.random.IntN(9)))
	}
	return c
}

func (l *lives) any() string { return l.arrived[l.random.IntN(len(l.arrived))] }

func (l *lives) knows(s stored) {
	if _, is := l.said[s.receipt.ID]; !is {
		l.arrived = append(l.arrived, s.receipt.ID)
	}
	l.breaks(l.said[s.receipt.ID])
	l.said[s.receipt.ID] = s
	delete(l.purged, s.receipt.ID)
}

func (l *lives) take(id string) {
	l.breaks(l.said[id])
	delete(l.said, id)
	l.arrived = slices.DeleteFunc(l.arrived, func(other string) bool { return other == id })
}

func (l *lives) process(s stored) {
	l.mustProcess(s.receipt, s.parsed)
	l.knows(s)
}

func (l *lives) processAtOnce() {
	var all errgroup.Group
	for range 2 + l.random.IntN(12) {
		s := l.next()
		l.knows(s)
		all.Go(func() error {
			if _, err := l.Writer.Write(l.t.Context(), event.WholeEvent, s.receipt, body, s.parsed, runOf(s.receipt)); err == nil {
				return nil
			}
			return process(l.database, arrival(s))
		})
	}
	require.NoError(l.t, all.Wait())
}

func (l *lives) discard(id string) {
	s := l.said[id]
	l.record(died(s.receipt, time.Now().Add(time.Second)))
	require.NoError(l.t, l.DeadLetters.DiscardDeadLetter(l.t.Context(), l.deadLetterOf(s.receipt).ID, ada))
	l.take(id)
	l.given[id] = s
}

// purgeSome removes old events, and those of their links that no fold reads, or that a base covers. No entity changes.
func (l *lives) purgeSome() {
	if l.keeps {
		return
	}
	const entities = `
SELECT coalesce(json_agg(to_jsonb(e) - '{base_version,base_at,base_id,reset_version,reset_at,reset_id,lost_version,lost_at,lost_id,
                                         purged_events,purged_sum,purged_mentions}'::text[] ORDER BY external_id)::text, '')
  FROM entities AS e`
	before := value[string](l.database, entities)
	const all = 1<<48 - 1 // an ID begins with 48 bits of time
	cut := int64(all)
	if l.random.IntN(2) == 0 {
		cut = l.random.Int64N(all)
	}
	l.purge(retention.Events, time.UnixMilli(cut))
	require.Equal(l.t, before, value[string](l.database, entities))
	l.collapse()
	rows, err := l.sql.Query(l.t.Context(), `SELECT event_id::text, position FROM event_entities`)
	require.NoError(l.t, err)
	type place struct {
		id       string
		position int
	}
	there, at := map[place]bool{}, place{}
	_, err = pgx.ForEachRow(rows, []any{&at.id, &at.position}, func() error { there[at] = true; return nil })
	require.NoError(l.t, err)
	for id, s := range l.said {
		l.purged[id] = map[int]bool{}
		for i := range s.parsed.Changes {
			l.purged[id][i] = !there[place{id, i + 1}]
		}
	}
}

// collapse records what the bases cover that a purge has moved.
func (l *lives) collapse() {
	for n := range 3 {
		ref := thing(fmt.Sprint(n))
		rows, err := l.sql.Query(l.t.Context(),
			`SELECT base_version, base_at, base_id::text FROM entities WHERE base_id IS NOT NULL AND external_id = $1`, ref.ExternalID)
		require.NoError(l.t, err)
		var end event.Order
		_, err = pgx.ForEachRow(rows, []any{&end.Version, &end.OccurredAt, &end.EventID}, func() error { return nil })
		require.NoError(l.t, err)
		if end.EventID == "" || end.Compare(l.ends[ref]) == 0 {
			continue
		}
		end.OccurredAt = end.OccurredAt.UTC()
		require.Positive(l.t, end.Compare(l.ends[ref]), "a base does not go back")
		covered, _ := l.links(ref, func(o event.OrderedChange) bool { return o.Order.Compare(end) <= 0 })
		for _, o := range covered[len(l.collapsed[ref]):] {
			require.Zero(l.t, value[int](l.database, `SELECT count(*) FROM events WHERE id = $1`, o.Order.EventID), "what is there is not collapsed")
		}
		l.collapsed[ref], l.ends[ref] = covered, end
	}
}

// ageEntity changes the row of an entity to what a release without checkpoints would have written.
func (l *lives) ageEntity() {
	id := l.ids[l.random.IntN(len(l.ids))]
	l.exec(`DELETE FROM entity_checkpoints WHERE external_id = $1`, id)
	l.exec(`
UPDATE entities AS e
   SET reset_version = NULL, reset_at = NULL, reset_id = NULL, links = NULL, latest_at = NULL,
       version = last.version, occurred_at = last.occurred_at, last_event_id = last.event_id
  FROM (SELECT version, occurred_at, event_id FROM event_entities WHERE external_id = $1
         ORDER BY coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC, event_id DESC LIMIT 1) AS last
 WHERE e.external_id = $1 AND e.base_id IS NULL`, id)
}

func (l *lives) processInBulk() {
	inbox, parsed := l.Inbox.NewInboxWriter(), map[string]event.Parsed{}
	for range 2 + l.random.IntN(12) {
		s := l.next()
		if l.random.IntN(4) == 0 {
			s.receipt = l.said[l.any()].receipt
		}
		if _, is := parsed[s.receipt.ID]; is {
			continue
		}
		l.knows(s)
		parsed[s.receipt.ID] = s.parsed
		_, err := inbox.Spool(l.t.Context(), event.LaneBulk, s.receipt, body, false)
		require.NoError(l.t, err)
	}
	for {
		batch, err := l.Writer.ProcessBatch(l.t.Context(), 7, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
			return parsed[r.ID], nil
		})
		require.NoError(l.t, err)
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			require.NotEqual(l.t, event.OutcomeLeft, e.Outcome, "%v", e.Reason)
		}
	}
}

func (l *lives) reopen() {
	ids := make([]string, 0, len(l.given))
	for id := range l.given {
		ids = append(ids, id)
	}
	s := l.given[slices.Min(ids)]
	delete(l.given, s.receipt.ID)
	require.NoError(l.t, l.DeadLetters.ReopenDeadLetter(l.t.Context(), l.deadLetterOf(s.receipt).ID, ada))
	l.process(s)
}

// links returns the changes of an entity that count, in fold order: the collapsed ones, and all that come after them.
func (l *lives) links(ref event.EntityRef, counts func(event.OrderedChange) bool) (links []event.OrderedChange, mentioned bool) {
	links, mentioned = slices.Clone(l.collapsed[ref]), len(l.collapsed[ref]) > 0
	for _, s := range l.said {
		for i, c := range s.parsed.Changes {
			o := event.OrderedChange{Order: event.OrderOf(s.receipt, s.parsed, c), Change: c}
			if l.purged[s.receipt.ID][i] || c.ExternalID != ref.ExternalID || !counts(o) {
				continue
			}
			if mentioned = true; !c.Mentions() && (l.ends[ref].EventID == "" || o.Order.Compare(l.ends[ref]) > 0) {
				links = append(links, o)
			}
		}
	}
	slices.SortStableFunc(links, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return links, mentioned
}

func always(event.OrderedChange) bool { return true }

func (l *lives) requireModel(when string) {
	l.t.Helper()
	for n := range 3 {
		ref := thing(fmt.Sprint(n))
		links, mentioned := l.links(ref, always)
		got, err := l.Read.Entity(l.t.Context(), ref)
		switch counts := value[int](l.database, `SELECT count(links) FROM entities WHERE external_id = $1`, ref.ExternalID); {
		case err == nil && counts > 0:
			l.requireTally(ref, links, when)
		case err == nil: // its last change may be a mention
			want, err := fold.Of(ref, links)
			require.NoError(l.t, err)
			got.Last = want.Last
		}
		stays := value[int](l.database, `
SELECT count(*) FROM entities WHERE external_id = $1 AND (lost_id IS NOT NULL OR purged_events > 0 OR purged_mentions)`, ref.ExternalID)
		l.requireFold(ref, links, mentioned || stays > 0, got, err, when)
		if err == nil {
			l.requireComplete(ref, got, when)
		}
		at := noon.Add(time.Duration(l.random.Int64N(int64(l.clock.Sub(noon)) + 2)))
		l.requireAsOf(ref, at, when+", as of "+at.String())
	}
}

// requireAsOf asserts that a state at a point in time is that of all events that had occurred, even if some are purged, or that
// the answer says from when on it is known.
func (l *lives) requireAsOf(ref event.EntityRef, at time.Time, when string) {
	l.t.Helper()
	until := func(c event.OrderedChange) bool { return !c.Order.OccurredAt.After(at) }
	links, mentioned := l.links(ref, until)
	got, err := l.Entities.EntityAsOf(l.t.Context(), ref, at)
	var collapsed *event.CollapsedError
	if errors.As(err, &collapsed) {
		require.True(l.t, collapsed.Before.After(at), when)
		require.NotEmpty(l.t, l.purged, when)
		if _, err := l.Entities.EntityAsOf(l.t.Context(), ref, collapsed.Before); err != nil {
			require.NotErrorAs(l.t, err, &collapsed, when)
		}
		l.unknown++
		return
	}
	before, isLost := l.lostBefore(ref, links, at)
	require.False(l.t, isLost, "%s: known from %s on", when, before)
	l.requireFold(ref, links, mentioned, got, err, when)
	if !l.broken[ref] {
		purged := l.purged
		l.purged = map[string]map[int]bool{}
		links, mentioned = l.links(ref, until)
		l.purged = purged
		l.requireFold(ref, links, mentioned, got, err, when+", with what is purged")
	}
}

// breaks records that an undone or changed event may be the last purged snapshot of its entities: what was purged before it can't
// be replaced.
func (l *lives) breaks(s stored) {
	for _, c := range s.parsed.Changes {
		if len(l.purged) > 0 && c.Resets() {
			l.broken[event.EntityRef{Provider: s.receipt.Provider, Kind: c.Kind, ExternalID: c.ExternalID}] = true
		}
	}
}

// requireComplete asserts that an entity which isn't incomplete is the fold of all events that are not expunged, purged or not.
func (l *lives) requireComplete(ref event.EntityRef, got event.Entity, when string) {
	l.t.Helper()
	if got.Incomplete {
		l.incomplete++
		return
	}
	var all []event.OrderedChange
	for _, o := range l.collapsed[ref] {
		if _, is := l.said[o.Order.EventID]; is {
			all = append(all, o)
		}
	}
	for _, s := range l.said {
		for _, c := range s.parsed.Changes {
			o := event.OrderedChange{Order: event.OrderOf(s.receipt, s.parsed, c), Change: c}
			if c.ExternalID == ref.ExternalID && (l.ends[ref].EventID == "" || o.Order.Compare(l.ends[ref]) > 0) {
				all = append(all, o)
			}
		}
	}
	want, err := fold.Of(ref, all)
	require.NoError(l.t, err)
	require.JSONEq(l.t, string(want.State), string(got.State), when)
}

// lostBefore returns from when on the state of an entity is known, if at is before that. A reset after the base makes it known.
func (l *lives) lostBefore(ref event.EntityRef, links []event.OrderedChange, at time.Time) (time.Time, bool) {
	_, _, latest := tallyOf(l.collapsed[ref])
	isReset := slices.ContainsFunc(links[len(l.collapsed[ref]):], func(c event.OrderedChange) bool { return c.Change.Resets() })
	return latest, latest.After(at) && !isReset
}

func (l *lives) requireFold(
	ref event.EntityRef, links []event.OrderedChange, mentioned bool, got event.Entity, err error, when string,
) {
	l.t.Helper()
	if !mentioned {
		require.ErrorIs(l.t, err, event.ErrNotFound, when)
		return
	}
	require.NoError(l.t, err, when)
	want, err := fold.Of(ref, links)
	require.NoError(l.t, err)
	require.JSONEq(l.t, string(want.State), string(got.State), when)
	require.Equal(l.t, want.Deleted, got.Deleted, when)
	require.Equal(l.t, want.Last, got.Last, when)
}

// tallyOf returns the order of the last reset, how many links there are from there on, and when the latest of them occurred.
func tallyOf(links []event.OrderedChange) (reset event.Order, n int64, latest time.Time) {
	for _, c := range links {
		if c.Change.Resets() {
			reset, n, latest = c.Order, 0, time.Time{}
		}
		if n++; c.Order.OccurredAt.After(latest) {
			latest = c.Order.OccurredAt
		}
	}
	return reset, n, latest
}

// requireTally asserts that an entity's row has the right reset and links, and that each of its checkpoints is the fold of what
// it covers.
func (l *lives) requireTally(ref event.EntityRef, links []event.OrderedChange, when string) {
	l.t.Helper()
	reset, n, _ := tallyOf(links)
	if reset.Compare(l.ends[ref]) <= 0 { // the base replaces it
		reset = event.Order{}
	}
	require.Equal(l.t, n, value[int64](l.database, `SELECT links FROM entities WHERE external_id = $1`, ref.ExternalID), when)
	require.Equal(l.t, reset.EventID, value[string](l.database, `SELECT coalesce(reset_id::text, '') FROM entities WHERE external_id = $1`, ref.ExternalID), when)

	rows, err := l.sql.Query(l.t.Context(), `
SELECT version, occurred_at, event_id::text, links, latest_at, state, deleted FROM entity_checkpoints WHERE external_id = $1`, ref.ExternalID)
	require.NoError(l.t, err)
	var (
		e       = event.Entity{EntityRef: ref}
		covered int64
		latest  time.Time
		kept    int
	)
	_, err = pgx.ForEachRow(rows, []any{&e.Last.Version, &e.Last.OccurredAt, &e.Last.EventID, &covered, &latest, &e.State, &e.Deleted}, func() error {
		e.Last.OccurredAt = e.Last.OccurredAt.UTC()
		require.Less(l.t, reset.Compare(e.Last), 1, when)
		end := slices.IndexFunc(links, func(c event.OrderedChange) bool { return c.Order.Compare(e.Last) > 0 })
		if end < 0 {
			end = len(links)
		}
		l.requireFold(ref, links[:end], true, e, nil, when)
		_, n, last := tallyOf(links[:end])
		require.Equal(l.t, n, covered, when)
		require.True(l.t, last.Equal(latest), when)
		kept++
		return nil
	})
	require.NoError(l.t, err)
	l.seen += kept
	require.LessOrEqual(l.t, kept, 2*bits.Len64(uint64(n/l.every)), when)
}

// A release without counts treated a mention as the last change of an entity; the entity is removed with the mention all the
// same.
func TestAnOldEntityGoesWithItsLastMention(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := receipt()
	db.process(r, parsed(event.Change{Kind: "thing", ExternalID: "1", Op: event.OpPatch}))
	db.exec(`
UPDATE entities
   SET links = NULL, latest_at = NULL, occurred_at = l.occurred_at, last_event_id = l.event_id FROM event_entities AS l`)
	_, err := db.Upkeep.Expunge(t.Context(), r.ID, 0, ada)
	require.NoError(t, err)
	require.Zero(t, value[int](db, `SELECT count(*) FROM entities`))
}
