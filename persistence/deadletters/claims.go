package deadletters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/fetches"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// The process that reruns a dead letter owns it from its claim on: a bulk replay, a run of the schedule, or the replay of one
// by an operator. A claim is a compare-and-set on the state, so that only one of several concurrent claims wins, and every
// later statement checks the owner, so that a late one changes nothing. An edited event begins as replaying without an owner
// (EditDeadLetter); "" stands for that.

// replayLease is how long a dead letter may be replaying before another owner may claim it: its owner has died, or its run takes
// long.
const replayLease = 15 * time.Minute

const (
	// claimedBy sets the columns of a dead letter that a statement claims for owner $1.
	claimedBy = outbox.Claimed + `, replay_id = $1`

	claimForReplay = `
WITH claimed AS (
UPDATE dead_letters SET ` + claimedBy + `, auto_attempts = 0
 WHERE id = $2
   AND (state IN ('open', 'exhausted')
        OR (state = 'replaying' AND replaying_since < clock_timestamp() - $3::interval))
RETURNING *)` + deadLetterColumns + bodyOfRun + ` FROM claimed`

	selectState = `SELECT state, coalesce(replaced_by::text, '') FROM dead_letters WHERE id = $1`

	markStarted = `
UPDATE dead_letters SET replaying_run_id = ($3::text[])[array_position($2::bigint[], id)]
 WHERE id = ANY ($2::bigint[]) AND replay_id IS NOT DISTINCT FROM nullif($1, '') AND state = 'replaying'`

	release = `
WITH given AS (
UPDATE dead_letters SET state = 'open', replaying_since = NULL, replaying_run_id = NULL, replay_id = NULL
 WHERE id = ANY($2::bigint[]) AND replay_id IS NOT DISTINCT FROM nullif($1, '') AND state = 'replaying'
RETURNING id)
UPDATE replays SET skipped = skipped + (SELECT count(*) FROM given) WHERE id = $1`

	selectUnstarted = deadLetterColumns + bodyOfRun + ` FROM dead_letters
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT id, ` + sizeOfRun + ` AS size FROM dead_letters
               WHERE replay_id = $1 AND state = 'replaying' AND replaying_run_id IS NULL ORDER BY id LIMIT $2) AS sized
       WINDOW page AS (ORDER BY id)) AS next WHERE fits))
 ORDER BY id`
)

// DropFetched removes the state that was fetched for the event of a claimed dead letter, and audits it: its run fetches it again.
func (s *Store) DropFetched(ctx context.Context, d event.DeadLetter, actor oversight.Actor) error {
	b := &pgx.Batch{}
	b.Queue(fetches.Remove, []string{d.Receipt.ID})
	audit.Queue(b, actor.Did(oversight.AuditFetch, fmt.Sprintf("dead_letter:%d", d.ID), nil))
	return postgres.Failure("drop fetched state", s.db.SendOnly(ctx, b))
}

// ClaimForReplay claims one dead letter that is open or exhausted, for a manual replay, and restarts its automatic attempts. A
// dead letter in another state is refused with an *event.StateError; one that has been replaying for 15 minutes can be taken
// over.
func (s *Store) ClaimForReplay(
	ctx context.Context, owner string, id int64, actor oversight.Actor,
) (d event.DeadLetter, err error) {
	defer postgres.Annotate(&err, "claim dead letter "+strconv.FormatInt(id, 10))
	b := &pgx.Batch{}
	b.Queue(claimForReplay, owner, id, replayLease).QueryRow(func(row pgx.Row) (err error) {
		d, err = scanDeadLetterWithBody(row)
		return err
	})
	tx, err := s.db.Begin(ctx, b)
	if errors.Is(err, pgx.ErrNoRows) {
		return event.DeadLetter{}, s.refuseReplay(ctx, id)
	}
	if err != nil {
		return event.DeadLetter{}, err
	}
	defer tx.Rollback(ctx)
	last := &pgx.Batch{}
	audit.Queue(last, actor.Did(oversight.AuditReplay, fmt.Sprintf("dead_letter:%d", id), nil))
	return d, tx.Commit(ctx, last)
}

// refuseReplay returns why a dead letter could not be claimed.
func (s *Store) refuseReplay(ctx context.Context, id int64) error {
	refused := &event.StateError{ID: id}
	err := s.db.QueryRow(ctx, selectState, id).Scan(&refused.State, &refused.ReplacedBy)
	return cmp.Or[error](err, refused)
}

// Unstarted returns the first n dead letters that an owner has claimed and not marked as started, because it was killed; fewer if
// their bodies are large. Their runs may have been started all the same.
func (s *Store) Unstarted(ctx context.Context, owner string, n int) ([]event.DeadLetter, error) {
	rows := s.db.Rows(ctx, selectUnstarted, owner, n)
	letters, err := pgx.CollectRows(rows, collectDeadLetter)
	return letters, postgres.Failure("list dead letters of replay "+postgres.Clean(owner), err)
}

// MarkStarted stores the started runs by the ID of the dead letter.
func (s *Store) MarkStarted(ctx context.Context, owner string, runs map[int64]string) error {
	if len(runs) == 0 {
		return nil
	}
	ids, runIDs := make([]int64, 0, len(runs)), make([]string, 0, len(runs))
	for id, runID := range runs {
		ids, runIDs = append(ids, id), append(runIDs, postgres.Clean(runID))
	}
	_, err := s.db.Exec(ctx, markStarted, owner, ids, runIDs)
	return postgres.Failure("mark runs of replay "+postgres.Clean(owner)+" as started", err)
}

// Release reopens dead letters that the owner could not start, and counts them as skipped.
func (s *Store) Release(ctx context.Context, owner string, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := s.db.Exec(ctx, release, owner, ids)
	return postgres.Failure("release dead letters of replay "+postgres.Clean(owner), err)
}

func collectDeadLetter(row pgx.CollectableRow) (event.DeadLetter, error) {
	return scanDeadLetterWithBody(row)
}

func queueClaim(b *pgx.Batch, into *[]event.DeadLetter, sql string, args ...any) {
	b.Queue(sql, args...).Query(postgres.Collect(into, collectDeadLetter))
}
