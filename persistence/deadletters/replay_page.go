package deadletters

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	lockReplay = `
SELECT state, rate, filter, bound, cursor,
       (SELECT count(*) FROM dead_letters WHERE replay_id = $1 AND state = 'replaying' AND ` + isAwaited + `)
  FROM replays WHERE id = $1 FOR UPDATE`

	claimPage = `
WITH mine AS (
SELECT id FROM dead_letters
 WHERE id = ANY($2::bigint[]) AND state IN ('open', 'exhausted') ORDER BY id FOR UPDATE),
claimed AS (
UPDATE dead_letters SET ` + claimedBy + `, auto_attempts = 0
 WHERE id = ANY (ARRAY(SELECT id FROM mine)) AND state IN ('open', 'exhausted')
RETURNING *)` + deadLetterColumns + bodyOfRun + ` FROM claimed ORDER BY id`

	advanceReplay = `UPDATE replays SET cursor = $2, skipped = skipped + $3 WHERE id = $1`

	drainReplay = `UPDATE replays SET drained_at = coalesce(drained_at, clock_timestamp()) WHERE id = $1`
)

// replayRow is the progress of a replay, as its locked row says.
type replayRow struct {
	operation.ReplayPage

	filter        operation.ReplayFilter
	bound, cursor int64
}

// ClaimPage claims the next n dead letters of a replay, and moves its cursor behind them, in one transaction: if it is killed
// before its commit it has done nothing; after it, Unstarted finds what it claimed. It claims fewer if their bodies are large, or
// if more than inFlight runs would be open at the same time. If the replay isn't running, it claims nothing.
func (s *Replays) ClaimPage(ctx context.Context, id string, n, inFlight int) (_ operation.ReplayPage, err error) {
	defer postgres.Annotate(&err, "claim page of replay "+postgres.Clean(id))
	var r replayRow
	b := &pgx.Batch{}
	b.Queue(lockReplay, postgres.Clean(id)).QueryRow(r.scan)
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return operation.ReplayPage{}, err
	}
	defer tx.Rollback(ctx)
	if room := inFlight - r.InFlight; r.State != operation.Running || room <= 0 {
		return r.ReplayPage, nil
	} else if n > room {
		n = room
	}
	last := &pgx.Batch{}
	if err := claimNext(ctx, tx, id, &r, n, last); err != nil {
		return operation.ReplayPage{}, err
	}
	return r.ReplayPage, tx.Commit(ctx, last)
}

// claimNext reads the next rows without a lock and then locks them: those that were claimed in between are skipped, and the
// cursor moves behind them as well.
func claimNext(ctx context.Context, t *postgres.Transaction, id string, r *replayRow, n int, last *pgx.Batch) error {
	var ids []int64
	list := postgres.NewList(`SELECT id, ` + sizeOfRun + ` AS size FROM dead_letters`)
	list.Where("id > %s AND id <= %s", r.cursor, r.bound)
	replayable(list, r.filter)
	sized, args := list.Page("id", n)
	b := &pgx.Batch{}
	b.Queue(`
SELECT id FROM (
       SELECT id, `+postgres.FitsPage+` AS fits FROM (`+sized+`) AS sized
       WINDOW page AS (ORDER BY id)) AS next
 WHERE fits ORDER BY id`, args...).Query(postgres.Collect(&ids, pgx.RowTo[int64]))
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	if len(ids) == 0 {
		r.Drained = true
		last.Queue(drainReplay, id)
		return nil
	}
	b = &pgx.Batch{}
	queueClaim(b, &r.DeadLetters, claimPage, id, ids)
	if err := t.Send(ctx, b); err != nil {
		return err
	}
	r.InFlight += len(r.DeadLetters)
	last.Queue(advanceReplay, id, ids[len(ids)-1], len(ids)-len(r.DeadLetters))
	return nil
}

func (r *replayRow) scan(row pgx.Row) error {
	return row.Scan(&r.State, &r.Rate, &r.filter, &r.bound, &r.cursor, &r.InFlight)
}
