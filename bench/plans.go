package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence"
)

// large are the tables that nothing may read as a whole.
var large = regexp.MustCompile(`Seq Scan on (events|idempotency_keys|entities|event_entities|dead_letters|error_log)\b`)

// checkPlans runs what operators look at and what the steps of an event ask, on a full database, and explains every statement.
func (s *suite) checkPlans(ctx context.Context, database string) error {
	seen := &statements{}
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.lab.Postgres.URL(database), Tracer: seen, MaxConns: 2, ApplicationName: "bench",
	})
	if err != nil {
		return err
	}
	defer store.Close()
	explained := 0
	for _, q := range questions(ctx, store) {
		seen.sent = nil
		_ = q.ask() // not found is as good here
		for _, sent := range seen.sent {
			if !explainable(sent.sql) {
				continue
			}
			plan, err := s.lab.Explain(ctx, database, sent.sql, sent.args...)
			if err != nil {
				return err
			}
			if text := strings.Join(plan, "\n"); large.MatchString(text) {
				return fmt.Errorf("%s reads a table as a whole:\n%s\n%s", q.name, sent.sql, text)
			}
			explained++
		}
	}
	if explained < len(questions(ctx, store)) {
		return fmt.Errorf("only %d statements were explained", explained)
	}
	s.phase.Checks = append(s.phase.Checks, fmt.Sprintf("%d statements of operators' lists, of the filters of dead letters "+
		"and of duplicate checks explained: each uses an index", explained))
	return nil
}

func explainable(sql string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return strings.EqualFold(first, "select") || strings.EqualFold(first, "with") || strings.EqualFold(first, "insert")
}

// question is something that is asked of the store.
type question struct {
	name string
	ask  func() error
}

func questions(ctx context.Context, store *persistence.Store) []question {
	entity := event.EntityRef{Provider: stripe, Kind: "customer", ExternalID: "cus_old1"}
	record := func(q event.RecordQuery) func() error {
		q.Limit = 50
		return func() error { _, err := store.Events(ctx, q); return err }
	}
	dead := func(q event.DeadLetterQuery) func() error {
		q.Limit = 50
		return func() error { _, err := store.DeadLetters(ctx, q); return err }
	}
	return []question{
		{"the list of events", record(event.RecordQuery{})},
		{"the events of a provider", record(event.RecordQuery{Provider: stripe})},
		{"the events of a type", record(event.RecordQuery{Provider: stripe, Type: eventType})},
		{"the events of a key", record(event.RecordQuery{Provider: stripe, Key: "evt_old000000000001"})},
		{"dead events", record(event.RecordQuery{Status: event.StatusDead})},
		{"the events of an entity", record(event.RecordQuery{Entity: &entity})},
		{"a timeline", func() error { _, err := store.Timeline(ctx, entity); return err }},
		{"an entity as of a moment", func() error { _, err := store.EntityAsOf(ctx, entity, time.Now()); return err }},
		{"the event of a workflow", func() error { _, err := store.EventByWorkflow(ctx, "stripe:evt_old000000000001"); return err }},
		{"all dead letters", dead(event.DeadLetterQuery{})},
		{"open dead letters", dead(event.DeadLetterQuery{State: event.DeadLetterOpen})},
		{"dead letters of a provider", dead(event.DeadLetterQuery{Provider: stripe})},
		{"dead letters of a code", dead(event.DeadLetterQuery{Code: "c7"})},
		{"dead letters of a type", dead(event.DeadLetterQuery{Type: eventType})},
		{"dead letters of a class", dead(event.DeadLetterQuery{Class: event.ClassFailed})},
		{"a duplicate", func() error { return persistDuplicate(ctx, store) }},
		{"a new event", func() error { return processDuplicate(ctx, store) }},
	}
}

// persistDuplicate asks as an event does whose key is taken. It stores nothing.
func persistDuplicate(ctx context.Context, store *persistence.Store) error {
	_, err := store.Persist(ctx, duplicate(), []byte("{}"), event.Parsed{Type: eventType}, event.Run{})
	return err
}

// processDuplicate asks as every event does at first. It stores nothing either.
func processDuplicate(ctx context.Context, store *persistence.Store) error {
	p := event.Parsed{Type: eventType, OccurredAt: time.Now(), Changes: []event.Change{
		{Kind: "customer", ExternalID: "cus_old1", Op: event.OpSnapshot, State: []byte("{}")},
	}}
	_, err := store.Process(ctx, duplicate(), []byte("{}"), p, event.Run{})
	return err
}

func duplicate() event.Receipt {
	return event.Receipt{
		ID: event.FirstIDAt(time.Now()), Provider: stripe, Key: "evt_old000000000001", KeyFrom: event.KeyFromEvent,
		ReceivedAt: time.Now().UTC(),
	}
}

// statements keeps what a store sends.
type statements struct {
	mu   sync.Mutex
	sent []statement
}

type statement struct {
	sql  string
	args []any
}

func (s *statements) keep(sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, statement{sql, args})
}

// TraceQueryStart and the others are what pgx asks of a tracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.keep(q.SQL, q.Args)
	return ctx
}

// TraceQueryEnd does nothing.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart does nothing.
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery sees each statement of a batch.
func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	s.keep(q.SQL, q.Args)
}

// TraceBatchEnd does nothing.
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
