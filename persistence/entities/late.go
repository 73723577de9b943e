package entities

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// lastReset is where the fold of an entity begins that does not know it.
	lastReset = `
SELECT version, occurred_at, event_id::text FROM event_entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND op <> 'patch' AND occurred_at <= $4
 ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC,
       event_id DESC, position DESC
 LIMIT 1`

	// nextChanges is a page of what an entity is folded from. The expression over version is that of the index.
	nextChanges = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, position FROM event_entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position)
     > (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid, $7::integer)
   AND occurred_at <= $8
 ORDER BY coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position
 LIMIT $9`

	isLinked = `
SELECT EXISTS (SELECT FROM ` + AllLinks + ` WHERE provider = $1 AND kind = $2 AND external_id = $3 AND occurred_at <= $4)`
)

// changesPerPage bounds how long one statement of a fold takes.
const changesPerPage = 1000

// late is an entity that is folded again, from a place before a change that came late or has gone.
type late struct {
	*Life

	from  event.Order // the first change that is not what it was
	until time.Time   // changes that occurred later do not count; zero: all do

	// after is the place of the last change that has been folded; position 0 is before all changes of an event.
	after    event.Order
	position int32
	read     int // of the last page
}

// newLate is the entity as far as it can be known without a look: where its reset stays, the fold begins there.
func newLate(l *Life, from event.Order) *late {
	again := newLife(l.EntityRef)
	again.before, again.above = l.before, 0
	a := &late{Life: again, from: from}
	if a.isKnown = l.isKnown && !l.resetsAt(from); a.isKnown {
		a.reset, a.after = l.reset, l.reset
	}
	return a
}

// resetsAt says whether the reset of the entity is the first change that is not what it was.
func (l *Life) resetsAt(o event.Order) bool { return l.reset.EventID != "" && o.Compare(l.reset) <= 0 }

// queueStart looks for the place where the fold begins.
func (a *late) queueStart(b *pgx.Batch, every int64) {
	switch {
	case !a.isKnown:
		a.isKnown = true
		b.Queue(lastReset, a.Provider, a.Kind, a.ExternalID, a.bound()).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(&a.after.Version, &a.after.OccurredAt, &a.after.EventID); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	case a.mayHaveCheckpoints(every):
		b.Queue(lastCheckpoint, a.Provider, a.Kind, a.ExternalID, a.from.Version, a.from.OccurredAt, a.from.EventID).
			Query(a.collectStart)
	}
}

func (a *late) collectStart(rows pgx.Rows) error {
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

// startAt goes on from a checkpoint.
func (a *late) startAt(c checkpoint) {
	a.Entity, a.links, a.latest, a.at, a.covered, a.above = c.Entity, c.links, c.latest, c.Last, c.links, c.links
	a.after, a.position = c.Last, math.MaxInt32
}

// queuePage folds the next changes.
func (a *late) queuePage(b *pgx.Batch, every int64) {
	at, id := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, pgtype.UUID{Valid: true}.String()
	if a.after.EventID != "" {
		at, id = pgtype.Timestamptz{Time: a.after.OccurredAt, Valid: true}, a.after.EventID
	}
	b.Queue(nextChanges, a.Provider, a.Kind, a.ExternalID, a.after.Version, at, id, a.position, a.bound(), changesPerPage).
		Query(func(rows pgx.Rows) error { return a.growFrom(rows, every) })
}

// bound is until as an argument.
func (a *late) bound() pgtype.Timestamptz {
	if a.until.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: a.until, Valid: true}
}

// growFrom folds rows as they come, some at a time.
func (a *late) growFrom(rows pgx.Rows, every int64) error {
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

// foldLate sends b, and folds entities again.
func foldLate(ctx context.Context, t *postgres.Transaction, b *pgx.Batch, all []*late, every int64) error {
	before := b.Len()
	for _, a := range all {
		a.queueStart(b, every)
	}
	if b.Len() > before {
		if err := t.Flush(ctx, b); err != nil {
			return err
		}
	}
	for open := all; len(open) > 0; {
		for _, a := range open {
			a.queuePage(b, every)
		}
		if err := t.Flush(ctx, b); err != nil {
			return err
		}
		open = unfinished(open)
	}
	for _, a := range all {
		a.end(every)
		if a.Last.EventID == "" {
			a.queueIsLinked(b, func(is bool) { a.isGone = !is })
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return t.Flush(ctx, b)
}

func unfinished(all []*late) (open []*late) {
	for _, a := range all {
		if a.read == changesPerPage {
			open = append(open, a)
		}
	}
	return open
}

// queueIsLinked asks whether an event mentions the entity at least.
func (a *late) queueIsLinked(b *pgx.Batch, found func(bool)) {
	b.Queue(isLinked, a.Provider, a.Kind, a.ExternalID, a.bound()).QueryRow(func(row pgx.Row) error {
		var is bool
		err := row.Scan(&is)
		found(is)
		return err
	})
}
