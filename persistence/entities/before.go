package entities

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// changesBefore selects the changes before a position, latest first, without their content.
	changesBefore = `
SELECT op <> 'patch', version, occurred_at, event_id::text, position FROM event_entities
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND ` + IsChange + `
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id, position)
     < (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid, $7::integer)
   AND occurred_at <= $8
 ORDER BY provider DESC, kind DESC, external_id DESC, coalesce(version::numeric, '-Infinity') DESC, occurred_at DESC,
       event_entities.event_id DESC, position DESC
 LIMIT $9`

	// checkpointBefore selects the last checkpoint before a position, among those that cover only events that had occurred by
	// the given time.
	checkpointBefore = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted FROM entity_checkpoints
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND latest_at <= $7
   AND (coalesce(version::numeric, '-Infinity'), occurred_at, event_id)
     < (coalesce($4::bigint::numeric, '-Infinity'), $5::timestamptz, $6::uuid)
 ORDER BY links DESC LIMIT 1`
)

// maxBefore is how many changes are folded for the state before a position; with more changes the state is unknown.
const maxBefore = 1000

// before folds the state of an entity before a position.
type before struct {
	refold // starts at a checkpoint, at the base, or at the beginning

	place  event.LinkCursor
	base   *checkpoint
	start  *checkpoint
	purged event.Order   // the last purged reset
	places []changePlace // latest first
}

type changePlace struct {
	event.Order

	resets   bool
	position int32
}

// StateBefore returns the state of an entity before a position in its timeline, as of a time (zero: now). The state is unknown
// (false) if more than maxBefore changes lie between the position and the nearest state that a fold can begin with, or if the
// position is collapsed.
func StateBefore(
	ctx context.Context, db *postgres.DB, ref event.EntityRef, place event.LinkCursor, asOf time.Time,
) (e event.Entity, known bool, err error) {
	f := &before{refold: refold{Life: newLife(ref), until: asOf}, place: place}
	b := &pgx.Batch{}
	b.Queue(oneSnapshot)
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	f.queueReads(b)
	tx, err := db.Begin(ctx, b)
	if err != nil {
		return event.Entity{}, false, err
	}
	defer tx.Rollback(ctx)
	n, known := f.begin()
	known = known && f.purged.Compare(f.after) <= 0 // changes in between were removed
	if !known || n == 0 {
		return f.Entity, known, nil
	}
	b = &pgx.Batch{}
	version, at, id := orderArgs(f.after)
	b.Queue(nextChanges, f.Provider, f.Kind, f.ExternalID, version, at, id, f.position, f.bound(), n).
		Query(func(rows pgx.Rows) error { return f.growFrom(rows, math.MaxInt64) })
	err = tx.Flush(ctx, b)
	return f.Entity, true, err
}

func (f *before) queueReads(b *pgx.Batch) {
	p := f.place
	b.Queue(changesBefore, f.Provider, f.Kind, f.ExternalID, p.Version, p.OccurredAt, p.EventID, p.Position, f.bound(),
		maxBefore+1).Query(func(rows pgx.Rows) (err error) {
		f.places, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c changePlace, err error) {
			return c, row.Scan(&c.resets, &c.Version, &c.OccurredAt, &c.EventID, &c.position)
		})
		return err
	})
	b.Queue(checkpointBefore, f.Provider, f.Kind, f.ExternalID, p.Version, p.OccurredAt, p.EventID, f.bound()).
		Query(f.collect(&f.start))
	b.Queue(baseOfEntity, f.Provider, f.Kind, f.ExternalID).Query(f.collect(&f.base))
	queuePurged(b, PurgedReset, f.EntityRef, func(o event.Order) { f.purged = o })
}

// collect stores the checkpoint that a statement finds.
func (f *before) collect(into **checkpoint) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			c := &checkpoint{Entity: event.Entity{EntityRef: f.EntityRef}}
			if err := scanCheckpoint(rows, c); err != nil {
				return err
			}
			*into = c
		}
		return rows.Err()
	}
}

// begin moves the fold to the nearest state that it can begin with, and returns how many changes follow.
func (f *before) begin() (n int, known bool) {
	place := event.Order{Version: f.place.Version, OccurredAt: f.place.OccurredAt, EventID: f.place.EventID}
	if f.base != nil {
		if f.base.Last.Compare(place) >= 0 || !f.until.IsZero() && f.base.latest.After(f.until) {
			return 0, false
		}
		if f.start == nil || f.start.Last.Compare(f.base.Last) < 0 {
			f.start = f.base
		}
	}
	for i, c := range f.places {
		switch {
		case f.start != nil && c.Compare(f.start.Last) <= 0:
			f.startAt(*f.start)
			return i, true
		case i == maxBefore:
			return 0, false
		case c.resets:
			f.after, f.position = c.Order, c.position-1
			return i + 1, true
		}
	}
	if f.start != nil {
		f.startAt(*f.start)
	}
	return len(f.places), true
}
