package deadletters

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/decisions"
	"holdfast/persistence/postgres"
)

const deadLetterColumns = `
SELECT id, receipt, state, workflow_id, run_id, step, error_class, error_code, error_message, attempts, failures,
       first_failed_at, last_failed_at, resolved_at, coalesce(resolved_run_id, ''), discarded_at,
       coalesce(discarded_by, ''), coalesce(discard_reason, ''), coalesce(replaced_by::text, ''),
       auto_attempts, next_replay_at, coalesce(duplicate_of::text, ''), subscription_id,
       coalesce((SELECT name FROM subscriptions AS s WHERE s.id = subscription_id), '')`

// bodyOf selects the body that a dead letter stores. For a subscription's dead letter the event stores it, and is kept as long as
// the dead letter is open.
const bodyOf = `,
       CASE subscription_id WHEN 0 THEN raw_body
            ELSE coalesce((SELECT e.raw_body FROM events AS e WHERE e.id = event_id), '') END`

// bodyOfRun is bodyOf for a run, which reads a large body itself.
const bodyOfRun = `,
       CASE WHEN receipt->'large' IS NOT NULL THEN ''
            WHEN subscription_id = 0 THEN raw_body
            ELSE coalesce((SELECT e.raw_body FROM events AS e WHERE e.id = event_id), '') END`

// sizeOfRun is the size of the body in bodyOfRun.
const sizeOfRun = `
       CASE WHEN receipt->'large' IS NOT NULL THEN 0
            WHEN subscription_id = 0 THEN octet_length(raw_body)
            ELSE coalesce((SELECT octet_length(e.raw_body) FROM events AS e WHERE e.id = event_id), 0) END`

const (
	selectDeadLetter = deadLetterColumns + bodyOf + ` FROM dead_letters WHERE id = $1`

	selectDeadLetterOfEvent = deadLetterColumns + bodyOf + ` FROM dead_letters
 WHERE event_id = $1::uuid AND subscription_id = 0 ORDER BY id DESC LIMIT 1`

	countOpenDeadLetters = `
SELECT provider, count(*) FROM dead_letters WHERE state IN ('open', 'replaying', 'exhausted') GROUP BY provider`

	countWaiting = `SELECT count(*) FROM dead_letters WHERE state IN ('open', 'exhausted')`
)

// DeadLetter returns one dead letter, with its body.
func (s *Store) DeadLetter(ctx context.Context, id int64) (event.DeadLetter, error) {
	d, err := scanDeadLetterWithBody(s.db.QueryRow(ctx, selectDeadLetter, id))
	return d, postgres.Failure("read dead letter "+strconv.FormatInt(id, 10), err)
}

// DeadLetterOfEvent returns the latest dead letter of an event that could not be processed, with its body.
func (s *Store) DeadLetterOfEvent(ctx context.Context, eventID string) (event.DeadLetter, error) {
	d, err := scanDeadLetterWithBody(s.db.QueryRow(ctx, selectDeadLetterOfEvent, eventID))
	return d, postgres.Failure("read dead letter of event "+postgres.Clean(eventID), err)
}

// DeadLetters returns a page of dead letters, last failed first, without their bodies.
func (s *Store) DeadLetters(ctx context.Context, q event.DeadLetterQuery) ([]event.DeadLetter, error) {
	list := postgres.NewList(deadLetterColumns + ` FROM dead_letters`)
	list.Equal("provider", q.Provider)
	list.OfSource(q.Source)
	list.Equal("type", q.Type)
	list.Equal("state", string(q.State))
	ofCauseIn(list, q)
	list.Equal("workflow_id", q.WorkflowID)
	if q.EventID != "" {
		list.Where("event_id = %s::uuid", postgres.Clean(q.EventID))
	}
	list.Between("last_failed_at", q.Since, q.Until)
	beyond, order := "<", "last_failed_at DESC, id DESC"
	if q.Oldest {
		beyond, order = ">", "last_failed_at, id"
	}
	if q.Before != nil {
		list.Where("(last_failed_at, id) "+beyond+" (%s, %s)", q.Before.LastFailed, q.Before.ID)
	}
	sql, args := list.Page(order, q.Limit)
	rows := s.db.Rows(ctx, sql, args...)
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.DeadLetter, error) {
		return scanDeadLetter(row)
	})
	return page, postgres.Failure("list dead letters", err)
}

// ofCauseIn restricts to why a query's dead letters failed.
func ofCauseIn(l *postgres.List, q event.DeadLetterQuery) {
	l.Equal("error_class", string(q.Class))
	l.Equal("error_code", q.Code)
	l.Equal("step", string(q.Step))
	l.Equal("rule", q.Rule)
	ofSubscription(l, q.Subscription)
}

// DeadLetterCounts counts the dead letters that a query selects, by state, whatever the query's own state is. Those that need an
// operator are all counted if the query names nothing but a provider and a cause: they have an index for it. Queries by event or
// workflow aren't counted.
func (s *Store) DeadLetterCounts(ctx context.Context, q event.DeadLetterQuery) (event.Counts, error) {
	counts := event.Counts{}
	if q.EventID != "" || q.WorkflowID != "" {
		return counts, nil
	}
	b := &pgx.Batch{}
	b.Queue(postgres.PlanEach)
	of := event.DeadLetterStates()
	if q.Source == "" && q.Type == "" && q.Since.IsZero() && q.Until.IsZero() {
		of = []event.DeadLetterState{event.DeadLetterResolved, event.DeadLetterDiscarded}
		list := postgres.NewList(`SELECT state FROM dead_letters`)
		list.Where("state IN ('open', 'replaying', 'exhausted')")
		list.Equal("provider", q.Provider)
		ofCauseIn(list, q)
		postgres.QueueCounts(b, counts, list.Statement(), list.Args, 0,
			string(event.DeadLetterOpen), string(event.DeadLetterReplaying), string(event.DeadLetterExhausted))
	}
	for _, state := range of {
		list := postgres.NewList("")
		list.OfSource(q.Source)
		list.Equal("type", q.Type)
		ofCauseIn(list, q)
		list.StateIfMatching("state", "dead_letters")
		list.Equal("state", string(state))
		list.Equal("provider", q.Provider)
		list.Between("last_failed_at", q.Since, q.Until)
		sql, args := list.Newest("last_failed_at DESC, id DESC", event.MaxCounted+1)
		postgres.QueueCounts(b, counts, sql, args, event.MaxCounted, string(state))
	}
	return counts, postgres.Failure("count dead letters", s.db.SendRead(ctx, b))
}

// WaitingDeadLetters counts the dead letters that need an operator: those that no replay has claimed.
func (s *Store) WaitingDeadLetters(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRow(ctx, countWaiting).Scan(&n)
	return n, postgres.Failure("count waiting dead letters", err)
}

// OpenDeadLetters counts the unresolved dead letters by provider, with those that are being replayed.
func (s *Store) OpenDeadLetters(ctx context.Context) (map[string]int64, error) {
	rows, err := s.db.Query(ctx, countOpenDeadLetters)
	if err != nil {
		return nil, postgres.Failure("count dead letters", err)
	}
	counts := map[string]int64{}
	var provider string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&provider, &n}, func() error { counts[provider] = n; return nil })
	return counts, postgres.Failure("count dead letters", err)
}

func scanDeadLetterWithBody(row pgx.Row) (event.DeadLetter, error) {
	var body []byte
	d, err := scanDeadLetter(row, &body)
	d.Body = body
	return d, err
}

func scanDeadLetter(row pgx.Row, more ...any) (d event.DeadLetter, err error) {
	var receipt []byte
	columns := []any{
		&d.ID, &receipt, &d.State, &d.Run.WorkflowID, &d.Run.RunID, &d.Failure.Step, &d.Failure.Class, &d.Failure.Code,
		&d.Failure.Message, &d.Failure.Attempts, &d.Failures, &d.FirstFailed, &d.LastFailed, &d.ResolvedAt,
		&d.ResolvedRun, &d.DiscardedAt, &d.DiscardedBy, &d.DiscardReason, &d.ReplacedBy,
		&d.AutoAttempts, &d.NextReplayAt, &d.DuplicateOf, &d.SubscriptionID, &d.Subscription,
	}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return event.DeadLetter{}, err
	}
	if err := json.Unmarshal(receipt, &d.Receipt); err != nil {
		return event.DeadLetter{}, fmt.Errorf("decode receipt: %w", err)
	}
	d.Failure.At = d.LastFailed
	return d, nil
}

// Store stores dead letters and replays. It is safe for concurrent use.
type Store struct {
	db        *postgres.DB
	decisions *decisions.Store
}

// New makes a Store that stores decisions in d.
func New(db *postgres.DB, d *decisions.Store) *Store { return &Store{db, d} }

// groupByCause reads only the index of causes, since rows contain bodies.
const groupByCause = `
SELECT provider, step, error_class, error_code, rule,
       coalesce((SELECT name FROM subscriptions AS s WHERE s.id = subscription_id), ''),
       count(*) FILTER (WHERE state = 'open'), count(*) FILTER (WHERE state = 'exhausted'),
       count(*) FILTER (WHERE state = 'replaying'), min(first_failed_at), max(last_failed_at), max(id)
  FROM dead_letters`

const (
	ofCause     = ` GROUP BY provider, step, error_class, error_code, rule, subscription_id`
	worstCauses = ` ORDER BY count(*) DESC, provider, step, error_class, error_code, rule, subscription_id LIMIT $1`
)

// Causes groups the dead letters that are open, exhausted or replaying by why they failed: largest first, up to event.MaxPage. An
// empty provider means all.
func (s *Store) Causes(ctx context.Context, provider string) ([]operation.Cause, error) {
	list := postgres.NewList(groupByCause)
	list.Args = []any{event.MaxPage}
	list.Where("state IN ('open', 'replaying', 'exhausted')")
	list.Equal("provider", provider)
	rows := s.db.Rows(ctx, list.Statement()+ofCause+worstCauses, list.Args...)
	causes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c operation.Cause, err error) {
		err = row.Scan(&c.Provider, &c.Step, &c.Class, &c.Code, &c.Rule, &c.Subscription, &c.Open, &c.Exhausted, &c.Replaying,
			&c.Oldest, &c.Newest, &c.Example)
		return c, err
	})
	return causes, postgres.Failure("group dead letters", err)
}
