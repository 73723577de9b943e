package recoveries

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/persistence/audit"
	"holdfast/persistence/bulk"
	"holdfast/persistence/postgres"
)

const (
	insertRecovery = `
INSERT INTO recoveries (
       id, provider, target, dry_run, undelivered, accept_duplicates, rate, asked_since, started_by, whole, state)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce(nullif($11, ''), 'running')) ON CONFLICT DO NOTHING`

	// dropEmpty removes what the schedule has started of a list and has found nothing: a list of recoveries isn't to be full of it.
	dropEmpty = `
DELETE FROM recoveries
 WHERE id = ANY (ARRAY(SELECT id FROM recoveries
                        WHERE started_at < clock_timestamp() - $4::interval AND started_at > clock_timestamp() - $5::interval
                          AND provider = $1 AND target = $2 AND started_by = $3 AND state = 'completed'
                          AND missed = 0 AND failed = 0 AND cut = ''))`

	// emptyFor is how long such a recovery is kept; older ones than emptyUntil were removed by an earlier call.
	emptyFor, emptyUntil = 2 * time.Hour, 7 * 24 * time.Hour

	recoveryColumns = `provider, target, dry_run, undelivered, accept_duplicates, whole, asked_since, since, until, cut,
       wanted_since, walk, listed, known, unwanted, unsafe, missed, retrying, recovered, arrived, failed, examples, problem,
       retry_at, first_missed, last_missed, refused, redeliverable, asked`

	// dropRemainders forgets what no log of a provider goes back to.
	dropRemainders = `DELETE FROM recovery_remainders WHERE at < clock_timestamp() - interval '100 days'`

	// beginRecovery sets the window once: an activity that runs again keeps it.
	beginRecovery = `
UPDATE recoveries SET since = $2, until = $3, cut = $4, wanted_since = $6, walk = $5, problem = ''
 WHERE id = $1 AND since IS NULL AND state = 'running'`

	failRecovery = `
UPDATE recoveries SET problem = $2, retry_at = $3::timestamptz,
       state = CASE WHEN $3::timestamptz IS NULL THEN 'paused' ELSE state END
 WHERE id = $1 AND state = 'running'`

	dropItems = `
DELETE FROM recovery_items WHERE ctid = ANY (ARRAY(SELECT ctid FROM recovery_items WHERE recovery_id = $1 LIMIT $2))`

	itemsPerDrop = 2000
	// maxProblem and maxTarget are in bytes.
	maxProblem = 500
	maxTarget  = 500
)

// Store stores recoveries. It is safe for concurrent use.
type Store struct {
	bulk.Table[operation.Recovery]
}

// New makes a Store.
func New(db *postgres.DB) *Store {
	return &Store{bulk.Table[operation.Recovery]{
		DB: db, Kind: operation.KindRecovery, Columns: recoveryColumns, Scan: scanRecovery,
	}}
}

func scanRecovery(row pgx.Row) (r operation.Recovery, err error) {
	var walk *string
	err = bulk.Scan(row, &r.Base, &r.Provider, &r.Target, &r.DryRun, &r.Undelivered, &r.AcceptDuplicates, &r.Whole,
		postgres.TimeOrZero(&r.AskedSince), postgres.TimeOrZero(&r.Since), postgres.TimeOrZero(&r.Until), &r.Cut,
		postgres.TimeOrZero(&r.WantedSince), &walk, &r.Listed, &r.Known, &r.Unwanted, &r.Unsafe, &r.Missed, &r.Retrying, &r.Recovered,
		&r.Arrived, &r.Failed, &r.Examples, &r.Problem,
		postgres.TimeOrZero(&r.RetryAt), postgres.TimeOrZero(&r.FirstMissed), postgres.TimeOrZero(&r.LastMissed),
		&r.Refused, &r.Redeliverable, &r.Asked)
	if walk != nil {
		r.Walk = json.RawMessage(*walk)
	}
	return r, err
}

func nullOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func textOf(walk json.RawMessage) *string {
	if walk == nil {
		return nil
	}
	text := string(walk)
	return &text
}

// CodeRuns is the code of a recovery that is refused because another one of its list has not ended.
const CodeRuns = "recovery_runs"

// Create stores a recovery, which begins as running unless its state is paused. It uses ID, State, Provider, Target, DryRun,
// Undelivered, AcceptDuplicates, AskedSince and Rate. While another one of the same list has not ended it is refused with an
// event.Error of class rejected and code CodeRuns.
func (s *Store) Create(ctx context.Context, r operation.Recovery, by oversight.Actor) (operation.Recovery, error) {
	provider, target := postgres.Clean(r.Provider), postgres.Clip(postgres.Clean(r.Target), maxTarget)
	detail := map[string]any{
		"provider": provider, "dry_run": r.DryRun, "undelivered": r.Undelivered,
		"accept_duplicates": r.AcceptDuplicates, "rate": r.Rate,
	}
	if target != "" {
		detail["target"] = target
	}
	if r.State == operation.Paused {
		detail["paused"] = true
	}
	if !r.AskedSince.IsZero() {
		detail["since"] = r.AskedSince.UTC()
	}
	did := s.Started(r.ID, by, audit.DetailOf(detail))
	created, err := audit.Change(ctx, s.DB, did, insertRecovery, r.ID, provider, target, r.DryRun, r.Undelivered,
		r.AcceptDuplicates, r.Rate, nullOf(r.AskedSince), postgres.Clean(by.Name), false, string(r.State))
	if err == nil && !created {
		err = event.Rejectf(CodeRuns, "another recovery of this list has not ended: one works at a time")
	}
	if err != nil {
		return operation.Recovery{}, postgres.Failure("create recovery", err)
	}
	return s.Read(ctx, r.ID)
}

// Schedule stores a recovery that the schedule starts, and removes earlier ones of the list that have found nothing. It is false
// while another one of the list has not ended, even if it is paused. It writes no audit entry, since no operator has decided it.
func (s *Store) Schedule(ctx context.Context, r operation.Recovery) (isNew bool, err error) {
	var created int64
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(insertRecovery, r.ID, r.Provider, r.Target, false, false, false, r.Rate, nil, operation.RecoverySchedule, r.Whole, "").
		Exec(postgres.CountInto(&created))
	b.Queue(dropEmpty, r.Provider, r.Target, operation.RecoverySchedule, emptyFor, emptyUntil)
	b.Queue(dropRemainders)
	err = s.DB.SendOnly(ctx, b)
	return created > 0, postgres.Failure("schedule recovery", err)
}

// Begin sets the window of a recovery and its position in the list; a nil walk means that there is nothing to read. It does
// nothing if the recovery has a window, or doesn't run.
func (s *Store) Begin(
	ctx context.Context, id string, w operation.RecoveryWindow, walk json.RawMessage,
) (operation.Recovery, error) {
	var wanted time.Time
	if w.Cut != "" {
		wanted = w.Wanted
	}
	if _, err := s.DB.Exec(ctx, beginRecovery, id, w.Since, w.Until, string(w.Cut), textOf(walk), nullOf(wanted)); err != nil {
		return operation.Recovery{}, postgres.Failure("begin recovery "+id, err)
	}
	return s.Read(ctx, id)
}

// Fail stores why a running recovery can't go on, and when it tries again. The zero time pauses it: an operator must do
// something.
func (s *Store) Fail(ctx context.Context, id, problem string, retryAt time.Time) (operation.Recovery, error) {
	if _, err := s.DB.Exec(ctx, failRecovery, id, postgres.Clip(postgres.Clean(problem), maxProblem), nullOf(retryAt)); err != nil {
		return operation.Recovery{}, postgres.Failure("fail recovery "+id, err)
	}
	return s.Read(ctx, id)
}

// Cancel ends a recovery whose workflow was canceled in Temporal, and removes its staged events, since no page will.
func (s *Store) Cancel(ctx context.Context, id string) error {
	if err := s.Table.Cancel(ctx, id); err != nil {
		return err
	}
	return s.Drop(ctx, id)
}

// Drop removes the staged events of a recovery that has ended.
func (s *Store) Drop(ctx context.Context, id string) error {
	for dropped := int64(itemsPerDrop); dropped == itemsPerDrop; {
		b := &pgx.Batch{}
		b.Queue(`SELECT ` + postgres.SettingsOfPlans)
		b.Queue(dropItems, postgres.Clean(id), itemsPerDrop).Exec(postgres.CountInto(&dropped))
		if err := s.DB.SendOnly(ctx, b); err != nil {
			return postgres.Failure("drop events of recovery "+postgres.Clean(id), err)
		}
	}
	return nil
}
