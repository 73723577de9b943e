package writer

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/duplicates"
	"holdfast/persistence/lanes"
	"holdfast/persistence/postgres"
)

const (
	insertEvents = `
INSERT INTO events (
       id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
       occurred_at, occurred_at_missing, received_at, workflow_id, run_id, request_id, correlation_id, possible_duplicate_of,
       omitted, processed_at)
SELECT id, provider, source, key, key_from, type, status, nullif(outcome, ''), ` + largeBody + `, headers::jsonb, receipt::json,
       projection::jsonb, payload_note, occurred_at, occurred_at_missing, received_at, workflow_id, run_id, request_id,
       correlation_id, nullif(possible_duplicate_of, '')::uuid, omitted::jsonb,
       CASE WHEN status = 'processed' THEN clock_timestamp() END
  FROM ` + eventRows

	// overwriteEvents writes the row again on a retry, a reset or a replay. The bytes of the latest run win until the event has been
	// processed, and stay from then on.
	overwriteEvents = `
UPDATE events AS e
   SET source = latest.source, key = latest.key, key_from = latest.key_from, type = latest.type,
       raw_body = coalesce(latest.body, (
           SELECT raw_body FROM inbox WHERE workflow_id = 'large/' || latest.large AND event_id = latest.large::uuid LIMIT 1),
           e.raw_body),
       headers = latest.headers::jsonb, receipt = latest.receipt::json, payload = latest.projection::jsonb,
       payload_note = latest.payload_note, occurred_at = latest.occurred_at,
       occurred_at_missing = latest.occurred_at_missing, received_at = latest.received_at,
       workflow_id = latest.workflow_id, run_id = latest.run_id,
       request_id = latest.request_id, correlation_id = latest.correlation_id
  FROM (SELECT * FROM ` + eventRows + placeOfEvent + `) AS latest
 WHERE e.ctid = latest.place AND e.status <> 'processed'`

	// eventRows are the parameters of rows, each with its body and the projection of it. The body of an event that waits in the
	// inbox stays in PostgreSQL, and so does a projection that has the same text as the body.
	eventRows = `unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[],
       $10::text[], $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::boolean[], $16::timestamptz[], $17::text[],
       $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[])
       AS row (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload, payload_note,
               occurred_at, occurred_at_missing, received_at, workflow_id, run_id, request_id, correlation_id,
               possible_duplicate_of, large, omitted, waiting)
 CROSS JOIN LATERAL (
       SELECT CASE WHEN waiting IS NULL THEN raw_body ELSE (
              SELECT i.raw_body FROM inbox AS i WHERE i.ctid = waiting::tid AND i.event_id = row.id)
              END AS body OFFSET 0) AS kept
 CROSS JOIN LATERAL (
       SELECT CASE payload WHEN '` + sameAsBody + `' THEN convert_from(body, 'UTF8') ELSE payload END AS projection) AS projected`

	// sameAsBody stands for a projection with the text of the body: no JSON is empty.
	sameAsBody = ""

	// largeBody doesn't read anything for other events.
	largeBody = `CASE WHEN large IS NULL THEN body ELSE coalesce(
       (SELECT i.raw_body FROM inbox AS i WHERE i.workflow_id = 'large/' || large AND i.event_id = large::uuid LIMIT 1),
       (SELECT d.raw_body FROM dead_letters AS d WHERE d.event_id = row.id AND d.subscription_id = 0 ORDER BY d.id DESC LIMIT 1))
       END`

	// finishEvents marks events processed, with their latest parse. The time of the first success stays, and so does the run if none
	// is given. A run that finds its event processed keeps its own time.
	finishEvents = `
UPDATE events AS e
   SET processed_at = CASE WHEN e.status = 'processed' THEN e.processed_at ELSE clock_timestamp() END,
       rerun_at = CASE WHEN e.status = 'processed' AND done.run_id <> '' THEN clock_timestamp() ELSE e.rerun_at END,
       status = 'processed', outcome = done.outcome, type = done.type, occurred_at = done.occurred_at,
       occurred_at_missing = done.occurred_at_missing, omitted = done.omitted::jsonb,
       workflow_id = coalesce(nullif(done.workflow_id, ''), e.workflow_id),
       run_id = coalesce(nullif(done.run_id, ''), e.run_id)
  FROM (SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::boolean[], $6::text[], $7::text[],
                           $8::text[])
                   AS row (id, outcome, type, occurred_at, occurred_at_missing, workflow_id, run_id,
                           omitted)` + placeOfEvent + `) AS done
 WHERE e.ctid = done.place`

	// placeOfEvent looks a row up. It stays where it is, since the transaction has locked the event.
	placeOfEvent = `
         CROSS JOIN LATERAL (SELECT ctid AS place FROM events WHERE id = row.id OFFSET 0) AS here`

	// resolveDeadLetters resolves dead letters, however the events were rescued.
	resolveDeadLetters = `
UPDATE dead_letters
   SET state = 'resolved', replaying_since = NULL, next_replay_at = NULL, resolved_at = clock_timestamp(),
       resolved_run_id = ($2::text[])[array_position($1::uuid[], event_id)],
       duplicate_of = nullif(($3::text[])[array_position($1::uuid[], event_id)], '')::uuid
 WHERE event_id = ANY ($1::uuid[]) AND subscription_id = 0 AND state ` + waits
)

// eventRow holds the columns of an event that must be encoded.
type eventRow struct {
	body             []byte
	headers, receipt string
	payload          *string // nil if there is no projection; sameAsBody if it's the body
	note             string
}

func newEventRow(r event.Receipt, body []byte) (row eventRow, err error) {
	if row.headers, err = postgres.HeadersColumn(r); err != nil {
		return row, err
	}
	r.Headers = nil // headers have their own column
	if row.receipt, err = postgres.ReceiptColumn(r); err != nil {
		return row, err
	}
	row.body = postgres.Bytea(body)
	row.payload, row.note = projectionColumn(body, r.Large != nil)
	return row, nil
}

// projectionColumn sends no projection that PostgreSQL can read from the body, unless the body is one that isn't sent.
func projectionColumn(body []byte, isLarge bool) (payload *string, note string) {
	projection, note := postgres.Project(body)
	if projection != nil && bytes.Equal(projection, body) && !isLarge {
		return new(sameAsBody), note
	}
	return textOrNull(projection), note
}

// queueRows writes the rows of events, and resolves the dead letters of events that are rescued, or that need no rescue since
// another event owns their key.
func (t *transaction) queueRows(b *pgx.Batch) {
	ws := t.events
	if fresh := filter(ws, func(w *eventWrite) bool { return w.owns() && w.current.status == "" && w.hasRow() }); len(fresh) > 0 {
		b.Queue(insertEvents, columnsOfRows(fresh)...)
	}
	again := filter(ws, func(w *eventWrite) bool { return w.owns() && w.current.status != "" })
	stored := filter(again, func(w *eventWrite) bool {
		return w.scope != event.EntitiesOnly && w.current.status != event.StatusProcessed
	})
	if len(stored) > 0 {
		b.Queue(overwriteEvents, columnsOfRows(stored)...)
	}
	if done := filter(again, (*eventWrite).finishes); len(done) > 0 {
		b.Queue(finishEvents, columnsOfDone(done)...)
	}
	rescued := filter(ws, (*eventWrite).resolvesDeadLetter)
	if len(rescued) > 0 {
		b.Queue(resolveDeadLetters, postgres.Column(rescued, (*eventWrite).id), postgres.Column(rescued, (*eventWrite).runID),
			postgres.Column(rescued, func(w *eventWrite) string { return w.Owner }))
	}
	// A dead letter, or a run of another event, will copy a large body from the inbox.
	gone := filter(ws, func(w *eventWrite) bool { return !w.isLarge() || w.Held == nil && !w.OwnerWaits })
	lanes.QueueRemovalOfCopies(b, postgres.Column(gone, (*eventWrite).accepted)...)
	t.queueContentRows(b)
	queueRedeliveries(b, ws)
	for _, w := range ws {
		if w.Conflict != nil {
			duplicates.QueueConflict(b, *w.Conflict)
		}
	}
}

// queueRedeliveries keeps the IDs of events that repeat the owner of their key. Conflicts have a list of their own.
func queueRedeliveries(b *pgx.Batch, ws []*eventWrite) {
	repeated := filter(ws, (*eventWrite).isRedelivery)
	duplicates.QueueRedeliveries(b, postgres.Column(repeated, (*eventWrite).id),
		postgres.Column(repeated, func(w *eventWrite) string { return w.Owner }))
}

func (w *eventWrite) isRedelivery() bool {
	return w.Outcome == event.OutcomeDuplicate && w.imported == "" && w.Conflict == nil && w.Owner != "" && w.Owner != w.receipt.ID
}

// resolvesDeadLetter reports whether the event's open dead letter is resolved.
func (w *eventWrite) resolvesDeadLetter() bool {
	switch {
	case !w.current.isDead || w.Held != nil || w.isRebuild || w.isStored && w.imported == operation.ImportDeadLetter:
		return false
	case w.imported != "":
		return w.owns()
	default:
		return w.finishes() || !w.owns()
	}
}

func columnsOfRows(ws []*eventWrite) []any {
	receipt := func(of func(*event.Receipt) string) []string {
		return postgres.Column(ws, func(w *eventWrite) string { return postgres.Clean(of(&w.receipt)) })
	}
	return []any{
		postgres.Column(ws, (*eventWrite).id),
		postgres.Column(ws, (*eventWrite).provider),
		receipt(func(r *event.Receipt) string { return r.Source }),
		postgres.Column(ws, func(w *eventWrite) string { return postgres.Clean(w.owned().Key) }),
		postgres.Column(ws, func(w *eventWrite) string { return postgres.Clean(string(w.owned().KeyFrom)) }),
		postgres.Column(ws, (*eventWrite).eventType),
		postgres.Column(ws, func(w *eventWrite) string { return string(w.status()) }),
		postgres.Column(ws, func(w *eventWrite) string { return string(w.outcome()) }),
		postgres.Column(ws, func(w *eventWrite) []byte { return w.storedBody() }),
		postgres.Column(ws, func(w *eventWrite) string { return w.row.headers }),
		postgres.Column(ws, func(w *eventWrite) string { return w.row.receipt }),
		postgres.Column(ws, func(w *eventWrite) *string { return w.row.payload }),
		postgres.Column(ws, func(w *eventWrite) string { return w.row.note }),
		postgres.Column(ws, func(w *eventWrite) time.Time { return w.parsed.OccurredAt }),
		postgres.Column(ws, func(w *eventWrite) bool { return w.parsed.OccurredAtMissing }),
		postgres.Column(ws, func(w *eventWrite) time.Time { return w.receipt.ReceivedAt }),
		postgres.Column(ws, (*eventWrite).workflowID),
		postgres.Column(ws, (*eventWrite).runID),
		receipt(func(r *event.Receipt) string { return r.RequestID }),
		receipt(func(r *event.Receipt) string { return r.CorrelationID }),
		postgres.Column(ws, func(w *eventWrite) string { return w.PossibleDuplicateOf }),
		postgres.Column(ws, (*eventWrite).largeRow),
		postgres.Column(ws, (*eventWrite).omitted),
		postgres.Column(ws, func(w *eventWrite) *string { return w.waiting }),
	}
}

// omitted returns the column with the entities that the event leaves out; NULL if there are none.
func (w *eventWrite) omitted() *string {
	if w.parsed.Omitted == nil {
		return nil
	}
	o := *w.parsed.Omitted
	o.Entities = slices.Clone(o.Entities)
	for i := range o.Entities {
		o.Entities[i].ExternalID = postgres.Clean(o.Entities[i].ExternalID)
	}
	text, _ := json.Marshal(o) //nolint:errchkjson // it has only numbers and text
	return textOrNull(text)
}

func textOrNull(b []byte) *string {
	if b == nil {
		return nil
	}
	text := string(b)
	return &text
}

// status returns the status of the event's row after the transaction.
func (w *eventWrite) status() event.Status {
	switch {
	case w.finishes():
		return event.StatusProcessed
	case w.current.isDead:
		return event.StatusDead
	default:
		return event.StatusPersisted
	}
}

// outcome returns the outcome of the event's row after the transaction; "" if it isn't finished.
func (w *eventWrite) outcome() event.Outcome {
	if w.finishes() {
		return outcomeOf(w.parsed)
	}
	return ""
}

func (w *eventWrite) id() string         { return w.receipt.ID }
func (w *eventWrite) eventType() string  { return postgres.Clean(w.parsed.Type) }
func (w *eventWrite) workflowID() string { return postgres.Clean(w.run.WorkflowID) }
func (w *eventWrite) runID() string      { return postgres.Clean(w.run.RunID) }

func columnsOfDone(ws []*eventWrite) []any {
	return []any{
		postgres.Column(ws, (*eventWrite).id),
		postgres.Column(ws, func(w *eventWrite) string { return string(w.outcome()) }),
		postgres.Column(ws, (*eventWrite).eventType),
		postgres.Column(ws, func(w *eventWrite) time.Time { return w.parsed.OccurredAt }),
		postgres.Column(ws, func(w *eventWrite) bool { return w.parsed.OccurredAtMissing }),
		postgres.Column(ws, (*eventWrite).workflowID),
		postgres.Column(ws, (*eventWrite).runID),
		postgres.Column(ws, (*eventWrite).omitted),
	}
}

// outcomeOf returns the outcome of an event that is finished with p.
func outcomeOf(p event.Parsed) event.Outcome {
	if p.Outcome == event.OutcomeIgnored {
		return event.OutcomeIgnored
	}
	return event.OutcomeProcessed
}

// isLarge reports whether the body is already in PostgreSQL. An import brings it.
func (w *eventWrite) isLarge() bool { return w.receipt.Large != nil && w.imported == "" }

// storedBody returns the body as the row's column gets it; nil if PostgreSQL has it.
func (w *eventWrite) storedBody() []byte {
	if w.isLarge() || w.waiting != nil {
		return nil
	}
	return w.row.body
}

// largeRow returns the ID of the inbox row with the body; "" if there is none.
func (w *eventWrite) largeRow() *string {
	if !w.isLarge() {
		return nil
	}
	return &w.receipt.Large.ID
}
