package entities

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// lastReset selects where the fold of an entity begins if its row doesn't have the reset.
	lastReset = `
SELECT version, occurred_at, event_id::text FROM event_entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND op <> 'patch' AND occurred_at <= $4
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
     > (coalesce($5::bigint::numeric, '-Infinity'), $6::timestamptz, $7::uuid)
 ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC,
       event_entities.event_id DESC, position DESC
 LIMIT 1`

	// nextChanges selects a page of changes to fold. The expression on version matches the index.
	nextChanges = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, position FROM event_entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position)
     > (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid, $7::integer)
   AND occurred_at <= $8
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, event_entities.event_id, position
 LIMIT $9`

	isLinked = `
SELECT EXISTS (SELECT FROM ` + AllLinks + ` WHERE provider = $1 AND kind = $2 AND external_id = $3 AND occurred_at <= $4)`
)

// changesPerPage bounds the duration of one statement of a fold.
const changesPerPage = 1000

// refold is an entity that is folded again, starting before an out-of-order or removed change.
type refold struct {
	*Life

	from  event.Order // the first change that differs
	until time.Time   // later changes don't count; zero: all count

	// lostBefore is the time before which states are collapsed, if until is earlier; zero otherwise.
	lostBefore time.Time

	// after is the position of the last folded change; position 0 precedes all changes of an event.
	after    event.Order
	position int32
	read     int // from the last page
}

// newRefold prepares the fold as far as possible without a query: if the reset still counts, the fold begins there.
func newRefold(l *Life, from event.Order) *refold {
	again := newLife(l.EntityRef)
	again.base, again.before, again.above, again.revision = l.base, l.before, 0, l.revision
	again.lost, again.purged = l.lost, l.purged
	a := &refold{Life: again, from: from}
	if a.isKnown = l.isKnown && !l.resetsAt(from); a.isKnown {
		a.reset, a.after = l.reset, l.reset
	}
	return a
}

// resetsAt reports whether the reset of the entity is at or after the first change that differs.
func (l *Life) resetsAt(o event.Order) bool { return l.reset.EventID != "" && o.Compare(l.reset) <= 0 }

// queueStart finds where the fold begins.
func (a *refold) queueStart(b *pgx.Batch, every int64) {
	if !a.isKnown {
		a.isKnown = true
		a.queueBase(b)
		a.queueReset(b)
		return
	}
	if a.reset.EventID == "" && a.Last.EventID == "" {
		a.queueBase(b)
	}
	if a.mayHaveCheckpoints(every) {
		b.Queue(lastCheckpoint, a.Provider, a.Kind, a.ExternalID, a.from.Version, a.from.OccurredAt, a.from.EventID).
			Query(a.collectStart)
	}
}

// queueReset begins the fold at the last reset after the base.
func (a *refold) queueReset(b *pgx.Batch) {
	version, at, id := orderArgs(a.base)
	b.Queue(lastReset, a.Provider, a.Kind, a.ExternalID, a.bound(), version, at, id).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var reset event.Order
			if err := rows.Scan(&reset.Version, &reset.OccurredAt, &reset.EventID); err != nil {
				return err
			}
			a.after, a.position, a.lostBefore = reset, 0, time.Time{} // the earlier state isn't needed
		}
		return rows.Err()
	})
	if !a.until.IsZero() {
		queuePurged(b, PurgedReset, a.EntityRef, a.markLost)
	}
}

func (a *refold) collectStart(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		c := checkpoint{Entity: event.Entity{EntityRef: a.EntityRef}}
		if err := scanCheckpoint(rows, &c); err != nil {
			return err
		}
		a.startAt(c)
	}
	return rows.Err()
}

// isLost reports whether the changes to fold were removed.
func (a *refold) isLost() bool { return !a.lostBefore.IsZero() }

// startAt continues from a checkpoint.
func (a *refold) startAt(c checkpoint) {
	a.Entity, a.links, a.latest, a.at, a.covered, a.above = c.Entity, c.links, c.latest, c.Last, c.links, c.links
	a.after, a.position = c.Last, math.MaxInt32
}

// queuePage folds the next changes.
func (a *refold) queuePage(b *pgx.Batch, every int64) {
	version, at, id := orderArgs(a.after)
	b.Queue(nextChanges, a.Provider, a.Kind, a.ExternalID, version, at, id, a.position, a.bound(), changesPerPage).
		Query(func(rows pgx.Rows) error { return a.growFrom(rows, every) })
}

func (a *refold) bound() pgtype.Timestamptz {
	if a.until.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: a.until, Valid: true}
}

// growFrom folds rows in chunks as they arrive.
func (a *refold) growFrom(rows pgx.Rows, every int64) error {
	a.read = 0
	some := make([]event.OrderedChange, 0, linksPerCheckpoint)
	for rows.Next() {
		c, err := ScanOrdered(rows, &a.position)
		if err != nil {
			return err
		}
		a.after = c.Order
		a.read++
		if some = append(some, c); len(some) == cap(some) {
			if err := a.grow(some, every); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return a.grow(some, every)
}

// refoldAll sends b, and folds entities again. If some still need another page of changes at the time until, it returns those
// as slow and folds none; a zero until means no limit.
func refoldAll(
	ctx context.Context, t *postgres.Transaction, b *pgx.Batch, all []*refold, every int64, until time.Time,
) (slow []*refold, err error) {
	before := b.Len()
	for _, a := range all {
		a.queueStart(b, every)
	}
	if b.Len() > before {
		if err := t.Flush(ctx, b); err != nil {
			return nil, err
		}
	}
	for open := slices.DeleteFunc(slices.Clone(all), (*refold).isLost); len(open) > 0; {
		for _, a := range open {
			a.queuePage(b, every)
		}
		if err := t.Flush(ctx, b); err != nil {
			return nil, err
		}
		open = unfinished(open)
		if !until.IsZero() && len(open) > 0 && time.Now().After(until) {
			return open, nil
		}
	}
	for _, a := range all {
		a.end(every)
		if a.Last.EventID == "" {
			a.queueIsLinked(b, func(is bool) { a.isGone = !is && (!a.until.IsZero() || !a.stays()) })
		}
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return nil, t.Flush(ctx, b)
}

func unfinished(all []*refold) (open []*refold) {
	for _, a := range all {
		if a.read == changesPerPage {
			open = append(open, a)
		}
	}
	return open
}

// queueIsLinked queries whether any event is still linked to the entity.
func (a *refold) queueIsLinked(b *pgx.Batch, found func(bool)) {
	b.Queue(isLinked, a.Provider, a.Kind, a.ExternalID, a.bound()).QueryRow(func(row pgx.Row) error {
		var is bool
		err := row.Scan(&is)
		found(is)
		return err
	})
}
