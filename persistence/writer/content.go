package writer

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// Events with a guessed key are compared by content: two with equal content may be one event sent twice, or two similar events.
// Both are kept; the second is marked, or held if its definition requires it. The lock makes sure that of two such events, one
// sees the other.
const (
	lockContents = `
SELECT pg_advisory_xact_lock(h) FROM (
       SELECT DISTINCT hashtextextended('content:' || provider || ':' || content, 0) AS h
         FROM unnest($1::text[], $2::text[]) AS wanted (provider, content) ORDER BY h) AS in_one_order`

	// selectContents finds the first event with the same content in 30 days, counts those of the last day up to one more than are
	// accepted, and reports whether an operator is replaying this event to accept it, and whether it was compared before. A later
	// event that is dead, perhaps held because of this one, is no reason to hold this one, since neither could proceed then. Nor is
	// a discarded event.
	selectContents = `
SELECT wanted.n,
       coalesce((SELECT c.event_id::text FROM event_contents AS c
                  WHERE c.provider = wanted.provider AND c.content = wanted.content AND c.event_id <> wanted.id
                    AND c.received_at BETWEEN wanted.received - interval '30 days' AND wanted.received + interval '30 days'
                    AND ((c.received_at, c.event_id) < (wanted.received, wanted.id)
                         OR NOT EXISTS (SELECT FROM dead_letters AS d
                                         WHERE d.event_id = c.event_id AND d.subscription_id = 0 AND d.state ` + waits + `)
                            AND NOT EXISTS (SELECT FROM decisions WHERE event_id = c.event_id OFFSET 0))
                  ORDER BY c.received_at, c.event_id LIMIT 1), ''),
       (SELECT count(*) FROM (
               SELECT FROM event_contents AS c
                WHERE (c.provider, c.content, c.received_at)
                      BETWEEN (wanted.provider, wanted.content, wanted.received - interval '1 day')
                          AND (wanted.provider, wanted.content, wanted.received + interval '1 day')
                  AND c.event_id <> wanted.id
                LIMIT wanted.flood) AS of_a_day),
       EXISTS (SELECT FROM dead_letters
                WHERE event_id = wanted.id AND subscription_id = 0 AND state = 'replaying'
                  AND error_class IN ('in_doubt', 'conflict')),
       EXISTS (SELECT FROM event_contents WHERE event_id = wanted.id OFFSET 0)
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::integer[]) WITH ORDINALITY
       AS wanted (id, provider, content, received, flood, n)`

	insertContents = `
INSERT INTO event_contents (event_id, provider, content, received_at)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[])
ON CONFLICT DO NOTHING`
)

// comparesContent reports whether the transaction decides if the event may repeat another one. An event with a row was accepted
// before; an import, a rebuild and an edit are an operator's decision.
func (w *eventWrite) comparesContent() bool {
	return w.scope != event.EntitiesOnly && w.imported == "" && !w.isRebuild &&
		(w.receipt.Replaces == "" || w.receipt.ConflictsWith != "") &&
		(w.receipt.Content != "" || w.receipt.ConflictsWith != "")
}

// queueContents locks and reads the contents of the events with a guessed key.
func (t *transaction) queueContents(b *pgx.Batch) {
	ws := filter(t.events, (*eventWrite).comparesContent)
	if len(ws) == 0 {
		return
	}
	var ids, providers, contents []string
	var received []time.Time
	var floods []int
	for _, w := range ws {
		ids, providers = append(ids, w.receipt.ID), append(providers, w.provider())
		contents = append(contents, postgres.Clean(w.receipt.Content))
		received, floods = append(received, w.receipt.ReceivedAt), append(floods, w.flood())
	}
	b.Queue(lockContents, providers, contents)
	var n int
	var c content
	columns := []any{&n, &c.first, &c.count, &c.accepted, &c.compared}
	b.Queue(selectContents, ids, providers, contents, received, floods).Query(postgres.ForEach(columns, func() {
		ws[n-1].content = c
	}))
}

// content describes the events with the same content.
type content struct {
	first    string // ID of the first one in 30 days; "" if there is none
	count    int    // others within a day, up to the number that is accepted
	accepted bool   // an operator replays the event
	compared bool   // an earlier transaction compared the event
}

func (w *eventWrite) flood() int {
	if r := w.parsed.Repeats; r != nil {
		return cmp.Or(r.Flood, event.DefaultFlood)
	}
	return event.DefaultFlood
}

// compareContents compares the events of one transaction with each other, in the order in which they were received.
func (t *transaction) compareContents() {
	type sameContent struct{ provider, content string }
	seen := map[sameContent][]*eventWrite{}
	for _, w := range slices.SortedFunc(slices.Values(filter(t.events, (*eventWrite).comparesContent)), func(a, b *eventWrite) int {
		return cmp.Or(a.receipt.ReceivedAt.Compare(b.receipt.ReceivedAt), cmp.Compare(a.receipt.ID, b.receipt.ID))
	}) {
		if w.receipt.Content == "" || !w.owns() {
			continue // a duplicate is not repeated by another event
		}
		k := sameContent{w.provider(), w.receipt.Content}
		if others := seen[k]; len(others) > 0 {
			w.content.first = cmp.Or(w.content.first, others[0].receipt.ID)
			w.content.count += len(others)
		}
		if !w.content.compared { // otherwise it was read
			seen[k] = append(seen[k], w)
		}
	}
}

// heldReason returns why only an operator may accept an event that owns its key; nil if it may be processed.
func (w *eventWrite) heldReason() *event.Error {
	if !w.comparesContent() || w.current.status != "" || w.content.accepted {
		return nil
	}
	repeats := w.parsed.Repeats
	switch {
	case w.receipt.ConflictsWith != "":
		return conflictWith(w.receipt.ConflictsWith)
	case w.content.first == "":
		return nil
	case repeats != nil && repeats.Hold:
		return &event.Error{
			Class: event.ClassInDoubt, Code: "possible_duplicate",
			Text: "event " + w.content.first + " has the same content, and the provider gives no certain ID: compare the two, then " +
				"replay this one to accept it, or discard it",
		}
	case w.content.count >= w.flood():
		return &event.Error{
			Class: event.ClassInDoubt, Code: "repeat_flood",
			Text: "too many events with the same content within a day, the first is " + w.content.first +
				": find out what sends them, then replay or discard them",
		}
	}
	return nil
}

// newlyHeldFor returns the ID of the event because of which this one is held; "" if there is none, or this one was held before.
func (w *eventWrite) newlyHeldFor() string {
	if w.Held == nil || w.Held.Class != event.ClassInDoubt || w.content.compared {
		return ""
	}
	return w.content.first
}

func conflictWith(owner string) *event.Error {
	return &event.Error{
		Class: event.ClassConflict, Code: event.CodeKeyConflict,
		Text: "event " + owner + " has the same ID and other content: compare the two, then replay this one to accept it under a " +
			"key of its own, or discard it",
	}
}

// repeats returns the ID of the event with the same content that the new row refers to; "" if there is none.
func (w *eventWrite) repeats() string {
	if w.comparesContent() && w.receipt.Content != "" && w.current.status == "" {
		return w.content.first
	}
	return ""
}

// queueContentRows stores the contents of the events that the transaction has stored or held.
func (t *transaction) queueContentRows(b *pgx.Batch) {
	var receipts []event.Receipt
	for _, w := range t.events {
		if w.scope != event.EntitiesOnly && !w.isRebuild && (w.owns() || w.Held != nil) {
			receipts = append(receipts, w.receipt)
		}
	}
	QueueContents(b, receipts...)
}

// QueueContents stores the contents of events with a guessed key, so that later ones can be compared with them.
func QueueContents(b *pgx.Batch, receipts ...event.Receipt) {
	var ids, providers, contents []string
	var received []time.Time
	for _, r := range receipts {
		if r.Content != "" {
			ids, providers = append(ids, r.ID), append(providers, postgres.Clean(r.Provider))
			contents, received = append(contents, postgres.Clean(r.Content)), append(received, r.ReceivedAt)
		}
	}
	if len(ids) > 0 {
		b.Queue(insertContents, ids, providers, contents, received)
	}
}
