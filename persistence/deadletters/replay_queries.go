package deadletters

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
)

// The counts of a replay that is not settled come from its dead letters.
const (
	replayColumns = `filter, total, coalesce(done, live_done), coalesce(failed, live_failed), live_in_flight, skipped,
       coalesce(blocked_by, '{}')`

	ofReplays = ` AS r LEFT JOIN LATERAL (
       SELECT count(*) FILTER (WHERE d.state = 'resolved' OR d.replaced_by IS NOT NULL) AS live_done,
              count(*) FILTER (WHERE d.state NOT IN ('resolved', 'replaying') AND d.replaced_by IS NULL) AS live_failed,
              count(*) FILTER (WHERE d.state = 'replaying') AS live_in_flight
         FROM dead_letters AS d WHERE d.replay_id = r.id AND r.settled_at IS NULL) AS live ON true
  LEFT JOIN LATERAL (
       SELECT array_agg(DISTINCT dest.name ORDER BY dest.name) AS blocked_by
         FROM dead_letters AS d JOIN delivery_queue AS q ON q.event_id = d.event_id AND q.subscription_id = d.subscription_id
         JOIN destination_states AS s ON s.destination_id = q.destination_id AND (s.breaker = 'open' OR s.state <> 'ready')
         JOIN destinations AS dest ON dest.id = q.destination_id
        WHERE d.replay_id = r.id AND d.state = 'replaying' AND d.subscription_id > 0
          AND r.settled_at IS NULL) AS blocked ON true`
)

// NewReplays makes the Replays of a database.
func NewReplays(db *postgres.DB) *Replays {
	return &Replays{bulk.Table[operation.Replay]{
		DB: db, Kind: operation.KindReplay, Columns: replayColumns, From: ofReplays, Unfinished: `settled_at IS NULL`,
		Scan: func(row pgx.Row) (operation.Replay, error) { return scanReplay(row) },
	}}
}

// Plan returns what a replay of the filter would process.
func (s *Replays) Plan(ctx context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error) {
	list := postgres.NewList(`SELECT provider, error_class, count(*), min(first_failed_at) FROM dead_letters`)
	replayable(list, f)
	rows, err := s.DB.Query(ctx, list.Statement()+` GROUP BY provider, error_class`, list.Args...)
	if err != nil {
		return operation.ReplayPlan{}, postgres.Failure("plan replay", err)
	}
	plan := operation.ReplayPlan{ByClass: map[event.Class]int64{}, ByProvider: map[string]int64{}}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		return struct{}{}, addToPlan(&plan, row)
	})
	return plan, postgres.Failure("plan replay", err)
}

func addToPlan(plan *operation.ReplayPlan, row pgx.Row) error {
	var part operation.ReplayPlan
	var provider string
	var class event.Class
	if err := row.Scan(&provider, &class, &part.Count, &part.Oldest); err != nil {
		return err
	}
	plan.Count += part.Count
	plan.ByClass[class] += part.Count
	plan.ByProvider[provider] += part.Count
	if plan.Oldest == nil || part.Oldest.Before(*plan.Oldest) {
		plan.Oldest = part.Oldest
	}
	return nil
}

func scanReplay(row pgx.Row, more ...any) (r operation.Replay, err error) {
	own := []any{&r.Filter, &r.Total, &r.Done, &r.Failed, &r.InFlight, &r.Skipped, &r.BlockedBy}
	err = bulk.Scan(row, &r.Base, append(own, more...)...)
	return r, err
}
