package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/internal/batch"
	"holdfast/persistence/postgres"
)

// Limits of an InboxWriter.
const (
	// groupsInFlight is how many inserts run at the same time: one writes while the next is on its way.
	groupsInFlight = 2
	// maxGroupRows and maxGroupBytes bound one insert; a single larger row gets its own.
	maxGroupRows  = 500
	maxGroupBytes = 4 << 20
	// maxWaitingBytes bounds the memory of pending rows while the database is slow or unavailable.
	maxWaitingBytes = 64 << 20
	// insertTimeout bounds one insert. It is less than the time that a request has.
	insertTimeout = 2 * time.Second
)

// insertInbox stores each event once per dedupe window, however often it was sent, and returns which ones it has stored. Windows
// are aligned to the calendar, so a duplicate across the border of two is stored; the drain detects it.
const insertInbox = `
INSERT INTO inbox (
       workflow_id, event_id, lane, provider, receipt, raw_body, reject, received_at, due_at, dedupe_from, fingerprint)
SELECT w, e, l, p, r, b, j, t, now() + delay, d, nullif(f, '')
  FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::boolean[], $8::timestamptz[],
              $9::interval[], $10::timestamptz[], $11::text[]) AS u(w, e, l, p, r, b, j, t, delay, d, f)
 WHERE l <> 'copy' OR NOT (
       EXISTS (SELECT FROM events WHERE id = e OFFSET 0) OR
       EXISTS (SELECT FROM dead_letters WHERE event_id = e AND subscription_id = 0))
    ON CONFLICT (workflow_id, dedupe_from) DO NOTHING
RETURNING event_id`

// waitingOwners returns the events that were in the inbox before some of those to be stored.
const waitingOwners = `
SELECT u.e, i.event_id::text, coalesce(i.fingerprint, '')
  FROM unnest($1::text[], $2::uuid[], $3::timestamptz[]) AS u(w, e, d)
 CROSS JOIN LATERAL (
       SELECT event_id, fingerprint FROM inbox
        WHERE workflow_id = u.w AND dedupe_from = u.d AND event_id <> u.e OFFSET 0) AS i`

// InboxWriter commits events to the inbox. Concurrent callers share one statement and one commit; a single caller doesn't wait
// for others. It is safe for concurrent use.
type InboxWriter struct {
	group *batch.Group[*inboxRow]
	db    *postgres.DB
}

type inboxRow struct {
	workflowID string
	dedupeFrom pgtype.Timestamptz
	event      event.Receipt
	id         pgtype.UUID
	lane       event.Lane
	provider   string
	receivedAt time.Time
	receipt    []byte // JSON
	body       []byte
	reject     bool
	delay      time.Duration // delay before the drain may claim it
	stored     bool

	owner, fingerprint string // of the event already in the inbox; "" if there is none
}

// size returns the approximate size of a row in bytes.
func (r *inboxRow) size() int { return len(r.receipt) + len(r.body) + len(r.workflowID) }

func (r *inboxRow) failure(err error) error {
	return postgres.Failure("spool event "+r.id.String(), err)
}

// NewInboxWriter makes a writer on the store's pool.
func (s *Store) NewInboxWriter() *InboxWriter {
	return &InboxWriter{db: s.db, group: batch.New(batch.Config[*inboxRow]{
		Run: s.insertGroup, AtOnce: groupsInFlight,
		MaxCalls: maxGroupRows, MaxBytes: maxGroupBytes, Size: (*inboxRow).size,
		MaxWaiting: maxWaitingBytes, Busy: errInboxBusy,
	})}
}

// errInboxBusy reports that events arrive faster than the database stores them.
var errInboxBusy = &event.Error{
	Class: event.ClassTransient, Code: "inbox_busy", Text: "too many events wait to be written to the inbox",
}

// Spool commits one event to the inbox. Stored is false if an event of the same workflow and dedupe window is in the inbox
// already: this one is its duplicate, and is not stored. An *event.ConflictError means that it is not a duplicate, and is not
// stored either. After any other error it may still be in the inbox.
func (w *InboxWriter) Spool(
	ctx context.Context, lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool,
) (stored bool, err error) {
	row, err := newInboxRow(lane, r, body, rejectRedelivery)
	if err != nil {
		return false, postgres.Failure("spool event "+postgres.Clean(r.ID), err)
	}
	return w.spool(ctx, row)
}

// SpoolLate is Spool, to the overflow lane, for an event that is being started: no drain claims it before the delay is over.
func (w *InboxWriter) SpoolLate(
	ctx context.Context, r event.Receipt, body []byte, rejectRedelivery bool, delay time.Duration,
) (stored bool, err error) {
	row, err := newInboxRow(event.LaneOverflow, r, body, rejectRedelivery)
	if err != nil {
		return false, postgres.Failure("spool event "+postgres.Clean(r.ID), err)
	}
	row.delay = delay
	return w.spool(ctx, row)
}

// Copy commits a copy of an event that Temporal has, which the drain checks after delay. If the event is stored, is a dead letter
// or is in the inbox, Copy does nothing. An *event.ConflictError means that the inbox has another event of its workflow.
func (w *InboxWriter) Copy(ctx context.Context, r event.Receipt, body []byte, delay time.Duration) error {
	row, err := newInboxRow(event.LaneCopy, r, body, false)
	if err != nil {
		return postgres.Failure("copy event "+postgres.Clean(r.ID), err)
	}
	row.delay = delay
	_, err = w.spool(ctx, row)
	return err
}

func (w *InboxWriter) spool(ctx context.Context, row *inboxRow) (stored bool, err error) {
	if err := w.group.Do(ctx, row); err != nil {
		return false, row.failure(err)
	}
	if row.stored || row.event.Fingerprint == "" {
		return row.stored, nil
	}
	return false, row.conflict()
}

// conflict returns the *event.ConflictError of an event that is not a duplicate of the one in the inbox; nil if it is, or if that
// one is gone by now.
func (r *inboxRow) conflict() error {
	if r.owner == "" {
		return nil
	}
	if c := r.event.ConflictWith(r.owner, r.fingerprint); c != nil {
		return &event.ConflictError{Conflict: *c}
	}
	return nil
}

// newInboxRow refuses what the table would refuse, so that no row can fail the others of its group.
func newInboxRow(lane event.Lane, r event.Receipt, body []byte, rejectRedelivery bool) (*inboxRow, error) {
	row := &inboxRow{
		workflowID: postgres.Clean(r.WorkflowID()), lane: lane, provider: postgres.Clean(r.Provider), receivedAt: r.ReceivedAt,
		body: postgres.Bytea(body), reject: rejectRedelivery, event: r,
		dedupeFrom: pgtype.Timestamptz{Valid: true, InfinityModifier: pgtype.NegativeInfinity},
	}
	if start := r.WindowStart(); !start.IsZero() {
		row.dedupeFrom = pgtype.Timestamptz{Valid: true, Time: start}
	}
	if !slices.Contains(event.Lanes(), lane) {
		return nil, event.Rejectf("unknown_lane", "there is no lane %q", postgres.Clean(string(lane)))
	}
	if row.id.Scan(r.ID) != nil || !row.id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	var err error
	if row.receipt, err = json.Marshal(r); err != nil {
		return nil, fmt.Errorf("encode receipt: %w", err)
	}
	return row, nil
}

// insertGroup sorts the rows in the same order in every writer, so that no two of them can deadlock.
func (s *Store) insertGroup(calls []*batch.Call[*inboxRow]) error {
	rows := postgres.Column(calls, func(c *batch.Call[*inboxRow]) *inboxRow { return c.Of })
	slices.SortFunc(rows, func(a, b *inboxRow) int { return strings.Compare(a.workflowID, b.workflowID) })
	ctx, cancel := context.WithTimeout(context.Background(), insertTimeout)
	defer cancel()
	return s.insertInbox(ctx, rows)
}

func (s *Store) insertInbox(ctx context.Context, rows []*inboxRow) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	queueInsert(b, rows)
	return s.db.SendOnly(ctx, b)
}

// queueInsert inserts the rows, and sets which of them are stored, and whose key others in the inbox have.
func queueInsert(b *pgx.Batch, rows []*inboxRow) {
	n := len(rows)
	if n == 0 {
		return
	}
	workflowIDs, lanes, providers := make([]string, n), make([]string, n), make([]string, n)
	ids, receipts, bodies := make([]pgtype.UUID, n), make(postgres.ByteaArray, n), make(postgres.ByteaArray, n)
	rejects, times, delays := make([]bool, n), make([]time.Time, n), make([]time.Duration, n)
	windows, fingerprints := make([]pgtype.Timestamptz, n), make([]string, n)
	for i, r := range rows {
		workflowIDs[i], ids[i], lanes[i], providers[i] = r.workflowID, r.id, string(r.lane), r.provider
		receipts[i], bodies[i], rejects[i], times[i], delays[i] = r.receipt, r.body, r.reject, r.receivedAt, r.delay
		windows[i], fingerprints[i] = r.dedupeFrom, postgres.Clean(r.event.Fingerprint)
	}
	at := 0
	b.Queue(insertInbox, workflowIDs, ids, lanes, providers, receipts, bodies, rejects, times, delays, windows, fingerprints).
		Query(func(found pgx.Rows) error {
			var id pgtype.UUID
			_, err := pgx.ForEachRow(found, []any{&id}, func() error { at = markStored(rows, at, id); return nil })
			return err
		})
	b.Queue(waitingOwners, workflowIDs, ids, windows).Query(func(found pgx.Rows) error { return markOwners(rows, found) })
}

// markOwners sets the owners that were in the inbox before.
func markOwners(rows []*inboxRow, found pgx.Rows) error {
	var id pgtype.UUID
	var owner, fingerprint string
	_, err := pgx.ForEachRow(found, []any{&id, &owner, &fingerprint}, func() error {
		for _, r := range rows {
			if r.id == id {
				r.owner, r.fingerprint = owner, fingerprint
			}
		}
		return nil
	})
	return err
}

// markStored looks for a row from an index on, since rows return in the order in which they were sent, and returns the index
// behind it.
func markStored(rows []*inboxRow, from int, id pgtype.UUID) int {
	for i := range rows {
		if at := (from + i) % len(rows); rows[at].id == id {
			rows[at].stored = true
			return at + 1
		}
	}
	return from
}
