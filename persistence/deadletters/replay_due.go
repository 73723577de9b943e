package deadletters

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// ofPolicy joins each dead letter d with the policy of its provider, or else with the one without a name. Its arguments are
// policyArgs. Failed deliveries are left to operators: the policy of the destination has made all its attempts already, and
// should be the only one to adjust.
const ofPolicy = `
  FROM dead_letters AS d
  JOIN unnest($1::text[], $2::float8[], $3::int[], $4::text[]) AS policy (provider, base, attempts, classes)
    ON policy.provider = CASE WHEN d.provider = ANY($1::text[]) THEN d.provider ELSE '' END
 WHERE d.state = 'open' AND d.subscription_id = 0`

// ofItsClasses excludes events whose run an operator has ended, since that is a decision. It also excludes imported events that
// haven't run here, which have no run ID: the old system may still process them, and subscriptions aren't active before the
// cut-over.
const ofItsClasses = ` AND d.error_class = ANY(string_to_array(policy.classes, ',')) AND d.run_id <> ''
   AND NOT (d.error_class = 'failed' AND d.error_code IN ('` + event.CodeTerminated + `', '` + event.CodeCanceled + `'))`

// The jitter of ± 20 % spreads out simultaneous failures.
const (
	planDue = `
UPDATE dead_letters AS d
   SET next_replay_at = d.last_failed_at + make_interval(secs => due.base * 2 ^ d.auto_attempts * (0.8 + 0.4 * random()))
  FROM (SELECT d.ctid AS place, policy.base` + ofPolicy + ofItsClasses + `
           AND d.next_replay_at IS NULL AND d.auto_attempts < policy.attempts
         LIMIT $5 FOR UPDATE OF d SKIP LOCKED) AS due
 WHERE d.ctid = due.place`

	exhaust = `
UPDATE dead_letters SET state = 'exhausted', next_replay_at = NULL
 WHERE id = ANY (ARRAY(
       SELECT d.id` + ofPolicy + ` AND d.auto_attempts > 0 AND d.auto_attempts >= policy.attempts
        LIMIT $5 FOR UPDATE OF d SKIP LOCKED))`

	// claimDue locks the first that are due, and claims those whose bodies fit into a page.
	claimDue = `
WITH claimed AS (
UPDATE dead_letters SET replay_id = $5, ` + outbox.Claimed + `, auto_attempts = auto_attempts + 1
 WHERE id = ANY (ARRAY(SELECT id FROM (
       SELECT id, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT d.id, d.next_replay_at, ` + sizeOfRun + ` AS size` + ofPolicy + ofItsClasses + `
                 AND d.next_replay_at <= clock_timestamp() AND ` + notOwned + `
               ORDER BY d.next_replay_at LIMIT $6 FOR UPDATE OF d SKIP LOCKED) AS sized
       WINDOW page AS (ORDER BY next_replay_at, id)) AS next WHERE fits))
RETURNING *)` + deadLetterColumns + bodyOfRun + ` FROM claimed ORDER BY id`

	countReplaying = `SELECT count(*) FROM dead_letters WHERE state = 'replaying' AND subscription_id = 0`
)

// planBatch is how many dead letters one statement plans or exhausts.
const planBatch = 1000

// PlanAutomaticReplay sets the time of the next automatic attempt of open dead letters, and marks those as exhausted that have
// had all attempts. It processes all of them, in statements of 1,000.
func (s *Store) PlanAutomaticReplay(ctx context.Context, p operation.AutomaticReplay) (planned, exhausted int64, err error) {
	policies := policyArgs(p)
	if exhausted, err = s.execAll(ctx, exhaust, policies...); err != nil {
		return 0, exhausted, postgres.Failure("exhaust dead letters", err)
	}
	planned, err = s.execAll(ctx, planDue, policies...)
	return planned, exhausted, postgres.Failure("plan automatic replay", err)
}

// execAll repeats a statement, whose last argument is a limit, until it affects fewer rows than that.
func (s *Store) execAll(ctx context.Context, sql string, args ...any) (all int64, err error) {
	for {
		tag, err := s.db.Exec(ctx, sql, append(slices.Clip(args), planBatch)...)
		all += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < planBatch {
			return all, err
		}
	}
}

// ClaimDue claims the first n due dead letters. It claims fewer if their bodies are large, or if more than inFlight would be
// replaying at the same time.
func (s *Store) ClaimDue(
	ctx context.Context, owner string, p operation.AutomaticReplay, n, inFlight int,
) (page operation.ReplayPage, err error) {
	page.State, page.Rate = operation.Running, p.Rate
	if err := s.db.QueryRow(ctx, countReplaying).Scan(&page.InFlight); err != nil {
		return page, postgres.Failure("count dead letters", err)
	}
	if n = min(n, inFlight-page.InFlight); n <= 0 {
		return page, nil
	}
	b := &pgx.Batch{}
	queueClaim(b, &page.DeadLetters, claimDue, append(policyArgs(p), owner, n)...)
	err = s.db.SendOnly(ctx, b)
	page.InFlight += len(page.DeadLetters)
	page.Drained = len(page.DeadLetters) == 0
	return page, postgres.Failure("claim due dead letters", err)
}

// policyArgs returns the policies as columns: provider, base in seconds, attempts, classes. The policy for all has no name.
func policyArgs(p operation.AutomaticReplay) []any {
	names, bases, attempts, classes := []string{}, []float64{}, []int32{}, []string{}
	add := func(name string, own operation.ReplayPolicy) {
		names, bases = append(names, name), append(bases, own.Base.Seconds())
		attempts = append(attempts, int32(min(own.Attempts, math.MaxInt32)))
		classes = append(classes, strings.Join(classNames(own.Classes), ","))
	}
	add("", p.ReplayPolicy)
	for _, name := range slices.Sorted(maps.Keys(p.Own)) {
		add(name, p.Own[name])
	}
	return []any{names, bases, attempts, classes}
}

func classNames(classes []event.Class) []string {
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = string(c)
	}
	return names
}
