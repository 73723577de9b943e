package deadletters

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
)

const (
	insertReplay = `
INSERT INTO replays (id, filter, rate, started_by, bound, total)
SELECT $1, $2::jsonb, $3::double precision, $4, coalesce(max(id), 0), count(*) FROM dead_letters`

	// Dead letters still open a day after the last start (a policy with long pauses, a stuck run) are not waited for. In a completed
	// replay everything that is neither done nor failed was skipped; in a canceled one it was never reached.
	settleReplay = `
WITH live AS (
SELECT count(*) FILTER (WHERE state = 'resolved' OR replaced_by IS NOT NULL) AS done,
       count(*) FILTER (WHERE state NOT IN ('resolved', 'replaying') AND replaced_by IS NULL) AS failed,
       count(*) FILTER (WHERE state = 'replaying' AND ` + isAwaited + `) AS in_flight
  FROM dead_letters WHERE replay_id = $1)
UPDATE replays AS r
   SET state = CASE WHEN state = 'canceled' THEN state ELSE 'completed' END,
       ended_at = coalesce(ended_at, clock_timestamp()), settled_at = clock_timestamp(),
       done = live.done, failed = live.failed, total = greatest(total, live.done + live.failed),
       skipped = CASE WHEN state = 'canceled' THEN skipped ELSE greatest(total - live.done - live.failed, 0) END
  FROM live
 WHERE id = $1 AND settled_at IS NULL AND (state = 'canceled' OR drained_at IS NOT NULL)
   AND (in_flight = 0 OR coalesce(ended_at, drained_at) < clock_timestamp() - interval '1 day')`

	// isAwaited is false for a delivery to a paused or disabled destination: it is queued, which is all that the replay can do, and
	// the replay skips it.
	isAwaited = `
       NOT EXISTS (
           SELECT FROM (
                  SELECT destination_id FROM delivery_queue AS q
                   WHERE q.event_id = dead_letters.event_id AND q.subscription_id = dead_letters.subscription_id
                     AND dead_letters.subscription_id > 0 OFFSET 0) AS q
             JOIN destination_states AS s ON s.destination_id = q.destination_id
            WHERE s.state <> 'ready')`
)

// Replays stores replays, and claims the dead letters of their pages. It is safe for concurrent use.
type Replays struct {
	bulk.Table[operation.Replay]
}

// Create stores a replay of what matches its filter now. It uses ID, Filter and Rate.
func (s *Replays) Create(ctx context.Context, r operation.Replay, by oversight.Actor) (operation.Replay, error) {
	filter, err := json.Marshal(r.Filter)
	if err != nil {
		return operation.Replay{}, fmt.Errorf("create replay: %w", err)
	}
	list := postgres.NewList(insertReplay)
	list.Args = []any{r.ID, string(filter), r.Rate, postgres.Clean(by.Name)}
	replayable(list, r.Filter)
	b := &pgx.Batch{}
	b.Queue(list.Statement(), list.Args...)
	audit.Queue(b, s.Started(r.ID, by, filter))
	if err := s.DB.SendOnly(ctx, b); err != nil {
		return operation.Replay{}, postgres.Failure("create replay", err)
	}
	return s.Read(ctx, r.ID)
}

// replayable restricts to dead letters that are open or exhausted, match the filter and don't belong to an unfinished replay:
// while one processes them, a second one skips them.
func replayable(l *postgres.List, f operation.ReplayFilter) {
	l.Where("state IN ('open', 'exhausted')")
	l.Equal("provider", f.Provider)
	l.OfSource(f.Source)
	l.Equal("type", f.Type)
	l.Equal("error_class", string(f.Class))
	if f.Class == "" && f.Code == "" { // a replay would accept these, so the filter must name them
		l.Where("error_class NOT IN ('in_doubt', 'conflict')")
	}
	l.Equal("error_code", f.Code)
	l.Equal("step", string(f.Step))
	l.Equal("rule", f.Rule)
	ofSubscription(l, f.Subscription)
	l.Equal("state", string(f.State))
	l.Between("last_failed_at", f.Since, f.Until)
	l.Where(notOwned)
}

// ofSubscription restricts to deliveries that have failed for the named subscription; an empty name does not restrict.
func ofSubscription(l *postgres.List, name string) {
	if name != "" {
		l.Where("subscription_id IN (SELECT s.id FROM subscriptions AS s WHERE s.name = %s)", postgres.Clean(name))
	}
}

const notOwned = `NOT EXISTS (SELECT FROM replays AS owner WHERE owner.id = replay_id AND owner.settled_at IS NULL)`

// Settle records the result of a replay once nothing of it is open, and reports whether that is so by now.
func (s *Replays) Settle(ctx context.Context, id string) (operation.Replay, bool, error) {
	if _, err := s.DB.Exec(ctx, settleReplay, postgres.Clean(id)); err != nil {
		return operation.Replay{}, false, postgres.Failure("settle replay "+postgres.Clean(id), err)
	}
	var settled bool
	sql := s.Select(`, settled_at IS NOT NULL`) + ` WHERE id = $1`
	r, err := scanReplay(s.DB.QueryRow(ctx, sql, postgres.Clean(id)), &settled)
	return r, settled, postgres.Failure("read replay "+postgres.Clean(id), err)
}
