package writer

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/entities"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
	"holdfast/persistence/subscriptions"
)

// The first statements of every transaction that writes events. A lock and the read that it protects are two statements, since a
// statement sees only what was committed before it began to wait.
const (
	selectEvents = `
SELECT wanted.n, coalesce(e.status, ''),
       EXISTS (` + isDeadOf + `wanted.id` + isWaiting + `),
       coalesce(held.event_id::text, ''), coalesce(held.fingerprint, ''), held.first_seen, coalesce(owner.status, ''),
       coalesce(owner.workflow_id, ''),
       held.event_id <> wanted.id IS TRUE
           AND EXISTS (` + isDeadOf + `held.event_id` + isWaiting + `),
       coalesce(v.decision, ''), v.at, coalesce(v.by, ''), coalesce(v.reason, ''),
       coalesce(v.replaced_by::text, ''), ` + subscriptions.HeadVersion + `,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
  FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (id, provider, key, n)
  LEFT JOIN LATERAL (SELECT status FROM events WHERE id = wanted.id OFFSET 0) AS e ON true
  LEFT JOIN LATERAL (
       SELECT event_id, fingerprint, first_seen FROM idempotency_keys
        WHERE provider = wanted.provider AND key = wanted.key OFFSET 0) AS held ON true
  LEFT JOIN LATERAL (SELECT status, workflow_id FROM events WHERE id = held.event_id OFFSET 0) AS owner ON true
  LEFT JOIN LATERAL (SELECT * FROM decisions WHERE event_id = wanted.id OFFSET 0) AS v ON true`

	// These select the dead letter of an event that waits. The states are compared afterwards: if PostgreSQL assumes an empty table,
	// it would read all that wait.
	isDeadOf  = `SELECT FROM (SELECT subscription_id, state FROM dead_letters WHERE event_id = `
	isWaiting = ` OFFSET 0) AS d WHERE subscription_id = 0 AND state ` + waits

	// waits is the SQL condition for an open dead letter, which may also be replaying or exhausted.
	waits = `IN ('open', 'replaying', 'exhausted')`

	selectLinks = `
SELECT kind, external_id, op, change, version, occurred_at, event_id::text, position
  FROM event_entities WHERE event_id = ANY ($1::uuid[]) ORDER BY event_entities.event_id, position`
)

// queueReads locks the events, claims their keys, and reads everything that the transaction needs.
func (t *transaction) queueReads(b *pgx.Batch, p timeouts) {
	byKey := slices.SortedFunc(slices.Values(t.events), func(a, b *eventWrite) int {
		return cmp.Or(cmp.Compare(a.provider(), b.provider()), cmp.Compare(a.receipt.Key, b.receipt.Key))
	})
	b.Queue(lockEvents, p.lock, p.statement, postgres.Column(byKey, (*eventWrite).id))
	t.queueClaims(b, filter(byKey, func(w *eventWrite) bool { return w.scope != event.EntitiesOnly }))
	t.queueContents(b)
	t.queueCurrent(b, byKey, func(w *eventWrite) string { return w.receipt.Key }, func(w *eventWrite, c current) {
		c.claimed, c.exists = w.current.claimed, w.current.exists
		w.current = c
	})
	if corrected := filter(byKey, func(w *eventWrite) bool { return w.former != nil }); len(corrected) > 0 {
		t.queueCurrent(b, corrected, (*eventWrite).formerKey, func(w *eventWrite, c current) { w.byFormerKey = c })
	}
	if apart := filter(byKey, (*eventWrite).mayBeApart); len(apart) > 0 {
		t.queueCurrent(b, apart, (*eventWrite).keyApart, func(w *eventWrite, c current) { w.byKeyApart = c })
	}
	t.queueNaming(b)
	switch {
	case t.isPaged():
		t.queueLinkReads(b)
	case t.naming == nil:
		t.queueEntityReads(b)
	}
}

// queueCurrent reads the events, and the owner of one key of each.
func (t *transaction) queueCurrent(
	b *pgx.Batch, ws []*eventWrite, keyOf func(*eventWrite) string, take func(*eventWrite, current),
) {
	var n int
	var c current
	var v event.Decision
	keys := postgres.Column(ws, func(w *eventWrite) string { return postgres.Clean(keyOf(w)) })
	ids, providers := postgres.Column(ws, (*eventWrite).id), postgres.Column(ws, (*eventWrite).provider)
	b.Queue(selectEvents, ids, providers, keys).Query(postgres.ForEach([]any{
		&n, &c.status, &c.isDead, &c.owner, &c.ownerFingerprint, &c.ownerReceived, &c.ownerStatus,
		&c.ownerWorkflow, &c.ownerWaits,
		&v.Outcome, postgres.TimeOrZero(&v.At), &v.By, &v.Reason, &v.ReplacedBy, &t.head, &t.clock,
	}, func() {
		w, one := ws[n-1], c
		if v.Outcome != "" {
			passed := v
			passed.EventID = w.receipt.ID
			one.decision = &passed
		}
		take(w, one)
		c.ownerReceived = nil
	}))
}

// queueEntityReads reads the links of the events that fold, and locks their entities. Events that only store their row don't wait
// for entities or their tables.
func (t *transaction) queueEntityReads(b *pgx.Batch) {
	if t.queueLinkReads(b) {
		queueEntityLocks(b, t.events, t.locked, t.naming)
	}
}

// queueEntityLocks locks the entities of the events that fold.
func queueEntityLocks(b *pgx.Batch, ws []*eventWrite, into map[event.EntityRef]*entities.Life, n *naming) {
	var events []string
	for _, w := range ws {
		if w.folds() {
			events = append(events, w.receipt.ID)
		}
	}
	if len(events) == 0 {
		return
	}
	needs := needsOf(ws)
	for _, name := range n.aliases() {
		needs.Merge(name, n.Root(name))
	}
	entities.QueueLocks(b, needs, events, into)
}

func needsOf(ws []*eventWrite) (n entities.Needs) {
	for _, w := range ws {
		for _, c := range w.changes {
			n.Add(w.refOf(c.Change), c.Change)
		}
	}
	return n
}

// queueLinkReads reads the links of the events that fold; it returns false if there are none.
func (t *transaction) queueLinkReads(b *pgx.Batch) bool {
	var ids []string
	byID := make(map[string]*eventWrite, len(t.events))
	for _, w := range filter(t.events, (*eventWrite).folds) {
		ids = append(ids, w.receipt.ID)
		byID[w.receipt.ID] = w
	}
	if len(ids) == 0 {
		return false
	}
	QueueLinks(b, ids, func(l event.OrderedChange, position int32) {
		w := byID[l.Order.EventID]
		w.current.links, w.current.places = append(w.current.links, l), append(w.current.places, position)
	})
	return true
}

// QueueLinks reads the links of events, each event's in the order of its changes.
func QueueLinks(b *pgx.Batch, eventIDs []string, take func(l event.OrderedChange, position int32)) {
	b.Queue(selectLinks, eventIDs).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var position int32
			l, err := entities.ScanOrdered(rows, &position)
			if err != nil {
				return err
			}
			take(l, position)
		}
		return rows.Err()
	})
}

// queueClaims claims the keys of events: either all or none are imported.
func (t *transaction) queueClaims(b *pgx.Batch, ws []*eventWrite) {
	switch {
	case len(ws) == 0:
	case ws[0].imported == "":
		keys.QueueEarlier(b, postgres.Column(ws, func(w *eventWrite) event.Receipt { return w.receipt }))
		keys.QueueClaims(b, keysOf(ws)...)
	default:
		queueImportedClaims(b, ws)
	}
}

// sameLinks reports whether links and changes are equal. If they only look different, the entities are folded once more, which
// changes nothing.
func sameLinks(links, changes []event.OrderedChange) bool {
	return slices.EqualFunc(links, changes, isSameLink)
}

func isSameLink(l, c event.OrderedChange) bool {
	return l.Change.Kind == c.Change.Kind && l.Change.ExternalID == c.Change.ExternalID && l.Change.Op == c.Change.Op &&
		l.Order.Compare(c.Order) == 0 && entities.SameJSON(l.Change.State, c.Change.State)
}
