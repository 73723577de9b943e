package rebuilds

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/entities"
	"holdfast/persistence/fetches"
	"holdfast/persistence/keys"
	"holdfast/persistence/minutes"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
	"holdfast/persistence/writer"
)

const (
	rebuiltEvents = records.Columns + `, raw_body, EXISTS (SELECT FROM decisions WHERE event_id = e.id OFFSET 0), ` +
		fetches.Columns + ` FROM events AS e` + fetches.Join

	// advanceRebuild counts each entity once, in however many events it differs, and stores the first of them for the diff.
	advanceRebuild = `
WITH differing AS (
INSERT INTO rebuild_entities AS known (rebuild_id, provider, kind, external_id, events)
SELECT $1, found.provider, found.kind, found.external_id,
       coalesce((SELECT array_agg(of.event_id)
                   FROM unnest($6::uuid[], $7::integer[]) AS of (event_id, n) WHERE of.n = found.n), '{}')
  FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS found (provider, kind, external_id, n)
ON CONFLICT (rebuild_id, provider, kind, external_id) DO UPDATE SET events = known.events || excluded.events
 WHERE cardinality(known.events) < ` + maxEventsOfDiff + ` AND cardinality(excluded.events) > 0
RETURNING (xmax = 0) AS is_new)
UPDATE rebuilds
   SET cursor = $2::uuid, read = read + $8, changed = changed + $9, unreadable = unreadable + $10, skipped = skipped + $11,
       problems = problems || $12::jsonb, corrected_keys = corrected_keys + $13, shared_keys = shared_keys + $14,
       key_conflicts = key_conflicts || $15::jsonb, splits = splits + $16,
       entities = entities + (SELECT count(*) FROM differing WHERE is_new)
 WHERE id = $1`

	// dropRebuilt drops some findings of earlier rebuilds, whose IDs are less. Each page does so, and the table stays about as long
	// as the findings of one rebuild.
	dropRebuilt = `
DELETE FROM rebuild_entities
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM rebuild_entities WHERE rebuild_id < $1 ORDER BY rebuild_id LIMIT 500))`

	dropPlannedKeys = `
DELETE FROM rebuild_keys
 WHERE ctid = ANY (ARRAY(SELECT ctid FROM rebuild_keys WHERE rebuild_id < $1 ORDER BY rebuild_id LIMIT 500))`

	// maxEventsOfDiff is about how many events of an entity are stored for its diff.
	maxEventsOfDiff = `1000`
)

// Page parses the next n events of a rebuild with today's definitions, fewer if their bodies are large, writes those that differ,
// unless it is a dry run, and moves the cursor behind them, in one transaction: if it is killed before its commit it has done
// nothing. Events that their definition can't parse stay unchanged. A rebuild that isn't running is only read; one with nothing
// left is completed.
func (s *Store) Page(ctx context.Context, id string, n int, parse event.Parser) (operation.Rebuild, error) {
	r, err := writer.Narrow(n, "rebuild event", func(n int, fault error) (operation.Rebuild, error) {
		return s.tryPage(ctx, id, n, parse, fault)
	})
	return r, postgres.Failure("rebuild page of "+postgres.Clean(id), err)
}

type rebuilding struct {
	*postgres.Transaction

	store  *Store
	row    rebuildRow
	fault  error // of the page's only event, which is therefore not written
	events []*rebuilt
	writes []*writer.Reparsed
	seen   operation.Rebuild // what the page adds to the counts
	found  map[event.EntityRef][]string
	mapped minutes.Recount
}

// rebuilt is an event of a page.
type rebuilt struct {
	event.Record

	passed bool // skipped, since an operator has decided about it
	links  []event.OrderedChange
	again  *writer.Reparsed // nil if it was skipped or can't be parsed
	finds  event.Mapping    // by today's definition, if again is set
}

func (s *Store) tryPage(
	ctx context.Context, id string, n int, parse event.Parser, fault error,
) (operation.Rebuild, error) {
	t := &rebuilding{store: s, fault: fault, found: map[event.EntityRef][]string{}}
	b := &pgx.Batch{}
	writer.QueueTimeouts(b, n)
	s.QueueLock(b, id, func(row pgx.Row) (err error) {
		t.row, err = scanRebuild(row)
		return err
	})
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return operation.Rebuild{}, err
	}
	defer tx.Rollback(ctx)
	t.Transaction = tx
	if t.row.State != operation.Running {
		return t.row.Rebuild, nil
	}
	if err := t.run(ctx, n, parse); err != nil {
		return operation.Rebuild{}, err
	}
	return s.Read(ctx, id)
}

// Unfetched returns the next n events of a rebuild, without the ones whose state was fetched since it started.
func (s *Store) Unfetched(ctx context.Context, id string, n int) (all []event.Record, err error) {
	defer postgres.Annotate(&err, "read events of rebuild "+postgres.Clean(id))
	t := &rebuilding{store: s}
	b := &pgx.Batch{}
	s.QueueLock(b, id, func(row pgx.Row) (err error) {
		t.row, err = scanRebuild(row)
		return err
	})
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	t.Transaction = tx
	if err := t.readPage(ctx, n); err != nil {
		return nil, err
	}
	for _, e := range t.events {
		if f := e.Receipt.Fetched; !e.passed && (f == nil || f.At.Before(t.row.StartedAt)) {
			all = append(all, e.Record)
		}
	}
	return all, nil
}

func (t *rebuilding) run(ctx context.Context, n int, parse event.Parser) error {
	if err := t.readPage(ctx, n); err != nil {
		return err
	}
	b := &pgx.Batch{}
	if len(t.events) == 0 {
		t.queueRecount(b, t.row.StartedAt)
		t.store.QueueEnd(b, t.row.ID, operation.Completed)
		return t.Commit(ctx, b)
	}
	if err := t.readLinks(ctx); err != nil {
		return err
	}
	for _, e := range t.events {
		t.read(e, parse)
	}
	if err := t.resolveNames(ctx); err != nil {
		return err
	}
	for _, e := range t.events {
		t.decide(e)
		t.mapped.Count(e.Receipt.Provider, event.AcceptedAt(e.Receipt.ID), t.mappingOf(e))
	}
	if err := t.settleKeys(ctx); err != nil {
		return err
	}
	if t.row.DryRun || len(t.writes) == 0 {
		t.queueAdvance(b)
		return t.Commit(ctx, b)
	}
	return t.store.writer.Rewrite(ctx, t.Transaction, t.writes, t.queueAdvance)
}

func (t *rebuilding) readPage(ctx context.Context, n int) error {
	if t.row.last == "" {
		return nil
	}
	list := postgres.NewList(`SELECT id, octet_length(raw_body) AS size FROM events`)
	if t.row.cursor == "" {
		list.Where("id >= %s::uuid", t.row.first)
	} else {
		list.Where("id > %s::uuid", t.row.cursor)
	}
	list.Where("id <= %s::uuid", t.row.last)
	list.Equal("provider", t.row.Filter.Provider)
	list.Where("status = 'processed'")
	sized, args := list.Page("id", n)
	page := rebuiltEvents + `
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (` + sized + `) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY id`
	b := &pgx.Batch{}
	b.Queue(page, args...).Query(func(rows pgx.Rows) (err error) {
		t.events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*rebuilt, error) {
			e := &rebuilt{}
			var body []byte
			var err error
			var fetched fetches.Scanned
			e.Record, err = records.Scan(row, append([]any{&body, &e.passed}, fetched.Targets()...)...)
			e.Body, e.Receipt.Fetched = body, fetched.Fetched()
			return e, err
		})
		return err
	})
	return t.Send(ctx, b)
}

func (t *rebuilding) readLinks(ctx context.Context) error {
	byID := make(map[string]*rebuilt, len(t.events))
	ids := make([]string, len(t.events))
	for i, e := range t.events {
		byID[e.Receipt.ID], ids[i] = e, e.Receipt.ID
	}
	b := &pgx.Batch{}
	writer.QueueLinks(b, ids, func(l event.OrderedChange, _ int32) {
		e := byID[l.Order.EventID]
		e.links = append(e.links, l)
	})
	return t.Send(ctx, b)
}

func (t *rebuilding) read(e *rebuilt, parse event.Parser) {
	t.seen.Read++
	if e.passed {
		t.seen.Skipped++
		return
	}
	p, err := parse(e.Receipt, e.Body)
	if err == nil && p.Splits > 0 {
		t.seen.Splits++
		t.listProblem(e, splitsNow(p.Splits))
		return
	}
	if err == nil {
		e.again, err = writer.NewReparsed(e.Receipt, p)
		e.finds = p.Mapping()
	}
	if err != nil {
		t.noteProblem(e, err)
	}
}

// splitsNow says why an event stays as it is: what it did can't be taken for what its parts would do, and they may have arrived
// on their own since the definition was corrected.
func splitsNow(parts int) *event.Error {
	return event.Rejectf(operation.CodeSplits, "the current definition finds %d events in it, and it stays one: if they are "+
		"missing, send its body again (holdfast event body, holdfast send --file)", parts)
}

// resolveNames gives changes the IDs that their names stand for.
func (t *rebuilding) resolveNames(ctx context.Context) error {
	var all []*writer.Reparsed
	for _, e := range t.events {
		if e.again != nil {
			all = append(all, e.again)
		}
	}
	return writer.ResolveNames(ctx, t.Send, all)
}

// decide checks whether to write an event. It needs no lock: unchanged events are not written, and the others are checked again
// once they are locked.
func (t *rebuilding) decide(e *rebuilt) {
	switch {
	case e.again == nil || !e.concerns(t.row.Filter.Kind) || !e.again.Differs(e.Record, e.links) && !e.again.AddsNames():
	case t.fault != nil:
		t.noteProblem(e, t.fault)
	case t.row.DryRun:
		t.note(e.again.ID(), e.again.Differing(e.links))
	default:
		t.writes = append(t.writes, e.again)
	}
}

// mappingOf returns whether rules find entities in an event as the rebuild leaves it.
func (t *rebuilding) mappingOf(e *rebuilt) event.Mapping {
	switch {
	case e.again != nil && t.fault == nil && e.concerns(t.row.Filter.Kind):
		return e.finds
	case len(e.links) > 0:
		return event.Mapped
	case e.again != nil && e.finds != "":
		return event.Unmapped
	}
	return ""
}

// queueRecount corrects the counts of events in which rules found no entity, from the end of the page before to the given time:
// what the rebuild has repaired is no longer reported.
func (t *rebuilding) queueRecount(b *pgx.Batch, until time.Time) {
	if !t.row.DryRun {
		t.mapped.Queue(b, t.row.Filter.Provider, t.row.Reached, until)
	}
}

// concerns reports whether the event changes or mentions an entity of the kind, or did so before; "" means any kind.
func (e *rebuilt) concerns(kind string) bool {
	isOfKind := func(c event.OrderedChange) bool { return c.Change.Kind == kind }
	return kind == "" || slices.ContainsFunc(e.links, isOfKind) || e.again.Concerns(kind)
}

// settleKeys claims the keys that events have by today's definition, where they are free, and notes those that another event has.
func (t *rebuilding) settleKeys(ctx context.Context) error {
	var corrected []event.Receipt
	for _, e := range t.events {
		if e.again == nil || !e.concerns(t.row.Filter.Kind) {
			continue
		}
		if r, is := e.again.Corrected(); is {
			corrected = append(corrected, r)
		}
	}
	if len(corrected) == 0 {
		return nil
	}
	t.seen.CorrectedKeys = int64(len(corrected))
	planFor := ""
	if t.row.DryRun {
		planFor = t.row.ID
	}
	b := &pgx.Batch{}
	keys.QueueCorrected(b, corrected, planFor, func(k operation.SharedKey) {
		t.seen.SharedKeys++
		if len(t.row.KeyConflicts)+len(t.seen.KeyConflicts) < operation.MaxProblems {
			t.seen.KeyConflicts = append(t.seen.KeyConflicts, k)
		}
	})
	return t.Send(ctx, b)
}

func (t *rebuilding) note(eventID string, refs []event.EntityRef) {
	t.seen.Changed++
	for _, ref := range refs {
		t.found[ref] = append(t.found[ref], eventID)
	}
}

// maxProblem is in bytes.
const maxProblem = 500

func (t *rebuilding) noteProblem(e *rebuilt, err error) {
	t.seen.Unreadable++
	t.listProblem(e, err)
}

func (t *rebuilding) listProblem(e *rebuilt, err error) {
	if len(t.row.Problems)+len(t.seen.Problems) < operation.MaxProblems {
		t.seen.Problems = append(t.seen.Problems, operation.RebuildProblem{
			EventID: e.Receipt.ID, Provider: e.Receipt.Provider, Class: event.ClassOf(err), Code: event.CodeOf(err),
			Message: postgres.Clip(postgres.Clean(err.Error()), maxProblem),
		})
	}
}

// queueAdvance moves the cursor behind the page. For written events it uses what was read once they were locked.
func (t *rebuilding) queueAdvance(b *pgx.Batch) {
	for _, r := range t.writes {
		if refs, ok := r.Rewritten(); ok {
			t.note(r.ID(), refs)
		}
	}
	var ids []string
	var of []int32
	refs := entities.SortedRefs(t.found)
	for i, ref := range refs {
		if t.row.DryRun {
			for _, id := range t.found[ref] {
				ids, of = append(ids, id), append(of, int32(i+1))
			}
		}
	}
	problems := postgres.JSON{Of: append([]operation.RebuildProblem{}, t.seen.Problems...)}
	conflicts := postgres.JSON{Of: append([]operation.SharedKey{}, t.seen.KeyConflicts...)}
	b.Queue(dropRebuilt, t.row.ID)
	b.Queue(dropPlannedKeys, t.row.ID)
	providers, kinds, externalIDs := entities.ColumnsOfRefs(refs)
	t.queueRecount(b, event.AcceptedAt(t.events[len(t.events)-1].Receipt.ID))
	b.Queue(advanceRebuild, t.row.ID, t.events[len(t.events)-1].Receipt.ID, providers, kinds, externalIDs, ids, of,
		t.seen.Read, t.seen.Changed, t.seen.Unreadable, t.seen.Skipped, problems, t.seen.CorrectedKeys, t.seen.SharedKeys, conflicts,
		t.seen.Splits)
}
