package errorlog

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// maxLogMessage bounds the text of a row, maxMeta the number of its metadata entries, maxMetaValue each of them.
const (
	maxLogMessage = 1 << 10
	maxMeta       = 16
	maxMetaValue  = 256
)

// insertErrors writes many rows in one statement, so that a batch is one round trip whatever its size.
const insertErrors = `
INSERT INTO error_log (at, phase, provider, error_class, error_code, error_message, event_id, count, meta, alert_pending)
SELECT at, phase, provider, class, code, message, nullif(event_id, '')::uuid, count, meta::jsonb, alert
  FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
              $9::text[], $10::boolean[])
       AS entry (at, phase, provider, class, code, message, event_id, count, meta, alert)`

// recentFailures counts failed steps; equal failures may share a row.
const recentFailures = `
SELECT coalesce(sum(count), 0)::bigint FROM error_log
 WHERE at > statement_timestamp() - interval '1 minute' AND phase IN ('parse', 'persist', 'upsert')`

// RecentFailures counts the event steps that failed within the last minute. Failures of the last seconds may not be written yet.
func (s *Store) RecentFailures(ctx context.Context) (n int64, err error) {
	err = s.db.QueryRow(ctx, recentFailures).Scan(&n)
	return n, postgres.Failure("count recent failures", err)
}

// countRefused reads a window by time: OFFSET keeps the planner from walking the whole index of codes.
const countRefused = `
SELECT provider, sum(count)::bigint
  FROM (SELECT provider, phase, error_code, count FROM error_log
         WHERE at > statement_timestamp() - interval '1 day' OFFSET 0) AS recent
 WHERE phase = 'receive' AND error_code = $1
 GROUP BY provider ORDER BY provider`

// Refused counts the requests of the last day that were refused for a reason of the ingress, by provider. Of refusals with a 4xx
// the error log has only those for the size of the body.
func (s *Store) Refused(ctx context.Context, reason string) ([]oversight.RefusedRequests, error) {
	rows, err := s.db.Query(ctx, countRefused, reason)
	if err != nil {
		return nil, postgres.Failure("count refused requests", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[oversight.RefusedRequests])
	return found, postgres.Failure("count refused requests", err)
}

// selectQueueProblems reads a window by time, like countRefused. An ingress repeats a problem at least every 30 s.
const selectQueueProblems = `
SELECT DISTINCT ON (provider, broker, queue) provider, broker, queue, error_code, error_message
  FROM (SELECT provider, phase, error_code, error_message, at, coalesce(meta ->> 'broker', '') AS broker,
               coalesce(meta ->> 'queue', '') AS queue
          FROM error_log WHERE at > statement_timestamp() - interval '90 seconds' OFFSET 0) AS recent
 WHERE phase = 'receive' AND error_code LIKE 'queue\_%'
 ORDER BY provider, broker, queue, at DESC`

// QueueProblems returns the last problem of each queue that an ingress can't read, if it was reported in the last 90 seconds.
func (s *Store) QueueProblems(ctx context.Context) ([]oversight.QueueProblem, error) {
	rows, err := s.db.Query(ctx, selectQueueProblems)
	if err != nil {
		return nil, postgres.Failure("read problems of queues", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[oversight.QueueProblem])
	return found, postgres.Failure("read problems of queues", err)
}

// LogErrors adds entries to the error log, all or none. It is not idempotent: an entry logged twice counts twice, which does no
// harm in a log. Damaged data always alerts operators: it doesn't repair itself, and the events that need it are retried until
// then.
func (s *Store) LogErrors(ctx context.Context, entries []oversight.ErrorEntry) error {
	columns := []any{
		postgres.Column(entries, func(e oversight.ErrorEntry) time.Time { return e.At }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return string(knownPhase(e.Phase)) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return postgres.Clean(e.Provider) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return postgres.KnownClass(e.Class) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return postgres.Clean(e.Code) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string {
			return postgres.Clip(postgres.Clean(e.Message), maxLogMessage)
		}),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return e.EventID }),
		postgres.Column(entries, func(e oversight.ErrorEntry) int64 { return max(e.Count, 1) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) string { return metaColumn(e.Meta) }),
		postgres.Column(entries, func(e oversight.ErrorEntry) bool { return e.Alert || postgres.IsDamageCode(e.Code) }),
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := s.db.Exec(ctx, insertErrors, columns...)
	return postgres.Failure("write error log", err)
}

// knownPhase replaces unknown phases, so that no entry is refused for its phase.
func knownPhase(p event.Phase) event.Phase {
	if slices.Contains(event.Phases(), p) {
		return p
	}
	return event.PhaseUpkeep
}

func metaColumn(meta map[string]string) string {
	bounded := make(map[string]string, min(len(meta), maxMeta))
	for name, value := range meta {
		if len(bounded) < maxMeta && value != "" {
			bounded[postgres.Clip(postgres.Clean(name), maxMetaValue)] = postgres.Clip(postgres.Clean(value), maxMetaValue)
		}
	}
	text, err := json.Marshal(bounded)
	if err != nil {
		return "{}" // a map of text always encodes
	}
	return string(text)
}

const selectErrors = `
SELECT id, at, phase, provider, error_class, error_code, error_message, coalesce(event_id::text, ''), count, meta
  FROM error_log`

// Errors returns a page of the error log, newest first.
func (s *Store) Errors(ctx context.Context, q oversight.ErrorQuery) ([]oversight.ErrorEntry, error) {
	list := postgres.NewList(selectErrors)
	list.Equal("phase", string(q.Phase))
	list.Equal("provider", q.Provider)
	if q.Source != "" {
		list.Where("event_id IS NOT NULL AND meta->>'source' = %s", postgres.Clip(postgres.Clean(q.Source), maxMetaValue))
	}
	list.Equal("error_class", string(q.Class))
	list.Equal("error_code", q.Code)
	if q.EventID != "" {
		list.Where("event_id = %s::uuid", postgres.Clean(q.EventID))
	}
	if !q.Since.IsZero() {
		list.Where("at >= %s", q.Since)
	}
	if !q.Until.IsZero() {
		list.Where("at < %s", q.Until)
	}
	if q.Before > 0 {
		list.Where("id < %s", q.Before)
	}
	sql, args := list.Page("id DESC", q.Limit)
	rows := s.db.Rows(ctx, sql, args...)
	page, err := pgx.CollectRows(rows, scanError)
	return page, postgres.Failure("list errors", err)
}

func scanError(row pgx.CollectableRow) (e oversight.ErrorEntry, err error) {
	err = row.Scan(&e.ID, &e.At, &e.Phase, &e.Provider, &e.Class, &e.Code, &e.Message, &e.EventID, &e.Count, &e.Meta)
	return e, err
}

// Store keeps the error log. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes a Store on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }
