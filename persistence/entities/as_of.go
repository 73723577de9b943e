package entities

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// lifeOfEntity reads an entity. lastCheckpointUntil reads its last checkpoint that covers only events that had occurred by the
// given time.
const (
	lifeOfEntity = lifeColumns + ` FROM entities WHERE provider = $1 AND kind = $2 AND external_id = $3`

	lastCheckpointUntil = `
SELECT links, version, occurred_at, event_id::text, latest_at, state, deleted FROM entity_checkpoints
 WHERE provider = $1 AND kind = $2 AND external_id = $3 AND latest_at <= $4
 ORDER BY links DESC LIMIT 1`

	// oneSnapshot gives all pages of a fold the same snapshot.
	oneSnapshot = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
)

// EntityAsOf returns the state that an entity had at a point in time: the fold of the events that had occurred by then, as
// stored and parsed today. It returns event.ErrNotFound if none had occurred, and an *event.CollapsedError if some were
// removed.
func (s *Store) EntityAsOf(ctx context.Context, ref event.EntityRef, at time.Time) (event.Entity, error) {
	named, others, err := Named(ctx, s.db, ref)
	if err != nil {
		return event.Entity{}, postgres.Failure("read "+NameOf(ref)+" at a point in time", err)
	}
	e, err := s.entityAsOf(ctx, named, at)
	if err == nil {
		e.Names = others
	}
	return e, postgres.Failure("read "+NameOf(ref)+" at a point in time", err)
}

func (s *Store) entityAsOf(ctx context.Context, ref event.EntityRef, at time.Time) (event.Entity, error) {
	a := &refold{Life: newLife(ref), until: at}
	a.isKnown = false
	b := &pgx.Batch{}
	b.Queue(oneSnapshot)
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(lifeOfEntity, ref.Provider, ref.Kind, ref.ExternalID).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			l, err := scanLife(rows)
			if err != nil {
				return err
			}
			if a.isKnown = l.isKnown && !l.reset.OccurredAt.After(at); a.isKnown {
				a.reset, a.after = l.reset, l.reset
			}
			a.base, a.lost = l.base, l.lost
		}
		return rows.Err()
	})
	b.Queue(lastCheckpointUntil, ref.Provider, ref.Kind, ref.ExternalID, at).Query(a.collectStart)
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return event.Entity{}, err
	}
	defer tx.Rollback(ctx)
	if _, err := refoldAll(ctx, tx, &pgx.Batch{}, []*refold{a}, s.every, time.Time{}); err != nil {
		return event.Entity{}, err
	}
	if a.isGone && !a.isLost() {
		last := &pgx.Batch{}
		queuePurged(last, purgedMention, a.EntityRef, a.markLost)
		if err := tx.Send(ctx, last); err != nil {
			return event.Entity{}, err
		}
	}
	if a.isLost() {
		return event.Entity{}, &event.CollapsedError{Before: a.lostBefore}
	}
	if a.isGone {
		return event.Entity{}, event.ErrNotFound
	}
	a.Incomplete = a.isIncomplete()
	return a.Entity, nil
}
