package outbox

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

const (
	// OrderColumns are the columns of delivery_queue that OrderOfHit fills.
	OrderColumns = `due_at, order_key, order_state, order_xid, order_place`

	// OrderOfHit reads the columns order_key ("" means none) and n (the place in this transaction) of "hit".
	OrderOfHit = `CASE hit.order_key WHEN '' THEN clock_timestamp() ELSE 'infinity' END, nullif(hit.order_key, ''),
       CASE WHEN hit.order_key <> '' THEN 'new' END, CASE WHEN hit.order_key <> '' THEN pg_current_xact_id() END,
       CASE WHEN hit.order_key <> '' THEN hit.n END`
)

// StoredOrderKey returns the column order_key for a key of a subscription: "" for "". It begins with the subscription, so that no
// index of other columns fits a condition on a key, whatever PostgreSQL's statistics are.
func StoredOrderKey(subscriptionID int64, key string) string {
	if key == "" {
		return ""
	}
	return strconv.FormatInt(subscriptionID, 10) + ":" + key
}

// keyOfQ is the key in column order_key of q.
const keyOfQ = `coalesce(substr(q.order_key, strpos(q.order_key, ':') + 1), '')`

// Ordered deliveries are queued as new, with due_at = infinity, so that no lease reads them however many wait. The sorter makes
// one delivery of each key its head, which is due like any other delivery. It works alone (lockSorter), so that what it reads of
// a key stays true until it commits, except that deliveries may end. A trigger notes keys whose head has ended, whichever
// statement ended it.
const (
	lockSorter = `SELECT pg_advisory_xact_lock(hashtextextended('holdfast: sort ordered deliveries', 0))`

	// readUnsorted returns whether a head has ended, whether there are new deliveries, whether some can be sorted, and whether some
	// have transaction IDs that this cluster hasn't reached.
	readUnsorted = `
SELECT EXISTS (SELECT FROM delivery_order_freed),
       EXISTS (SELECT FROM delivery_queue WHERE order_state = 'new'),
       EXISTS (SELECT FROM delivery_queue
                WHERE order_state = 'new' AND order_xid < pg_snapshot_xmin(pg_current_snapshot())),
       EXISTS (SELECT FROM delivery_queue
                WHERE order_state = 'new' AND order_xid >= pg_snapshot_xmax(pg_current_snapshot()))`

	// adoptRestored moves deliveries of a restored dump before those of this cluster, whose transaction IDs began again. Nothing new
	// is sorted until all of them are moved.
	adoptRestored = `
UPDATE delivery_queue AS q SET order_xid = '0', order_place = r.n
  FROM (SELECT place, row_number() OVER (ORDER BY order_xid, order_place) + coalesce((
               SELECT order_place FROM delivery_queue WHERE order_state = 'new' AND order_xid = '0'
                ORDER BY order_xid DESC, order_place DESC LIMIT 1), 0) AS n
          FROM (SELECT ctid AS place, order_xid, order_place FROM delivery_queue
                 WHERE order_state = 'new' AND order_xid >= pg_snapshot_xmax(pg_current_snapshot())
                 ORDER BY order_xid, order_place LIMIT $1) AS first_ones) AS r
 WHERE q.ctid = r.place`

	// freedKeys are the keys of some notes. A key may have several.
	freedKeys = `
       (SELECT DISTINCT order_key FROM (SELECT order_key FROM delivery_order_freed ORDER BY id LIMIT $1) AS first_ones) AS k`

	// firstBehind is the first delivery behind the head of key k.
	firstBehind = `
       SELECT q.ctid AS place FROM delivery_queue AS q
        WHERE q.order_key = k.order_key AND q.order_state = 'waiting' ORDER BY q.order_place LIMIT 1`

	// hasHead is true if key k has a head.
	hasHead = `
       EXISTS (SELECT FROM delivery_queue AS h
                WHERE h.order_key = k.order_key AND h.order_state IN ('head', 'paused') OFFSET 0)`

	// lockNext locks the next delivery of each freed key. It waits for a transaction that ends it, and then locks the one after it:
	// skipping it would break the order if that transaction is rolled back. leaseDue explains why promote finds rows by their ctid,
	// and why they must be locked before.
	lockNext = `
SELECT FROM` + freedKeys + ` CROSS JOIN LATERAL (` + firstBehind + ` FOR UPDATE) AS next`

	promote = `
WITH next AS MATERIALIZED (
     SELECT next.place FROM` + freedKeys + ` CROSS JOIN LATERAL (` + firstBehind + `) AS next WHERE NOT` + hasHead + `
)
UPDATE delivery_queue AS q
   SET order_state = 'head', due_at = statement_timestamp(), head_since = statement_timestamp()
  FROM next WHERE q.ctid = next.place
RETURNING q.destination_id`

	// forgetFreed removes the notes of keys that have a head again, or nothing to promote.
	forgetFreed = `
DELETE FROM delivery_order_freed AS k
 WHERE k.id = ANY (ARRAY(SELECT id FROM delivery_order_freed ORDER BY id LIMIT $1))
   AND (` + hasHead + ` OR NOT EXISTS (
       SELECT FROM delivery_queue AS q WHERE q.order_key = k.order_key AND q.order_state = 'waiting' OFFSET 0))`

	// sortable selects the new deliveries whose place is known: all transactions that began before theirs have ended.
	sortable = `
 WHERE order_state = 'new' AND order_xid < pg_snapshot_xmin(pg_current_snapshot())`

	lockNew = `
SELECT FROM delivery_queue` + sortable + ` ORDER BY order_xid, order_place LIMIT $1 FOR UPDATE`

	// sortNew places the deliveries that lockNew has locked, which is their xmax, at the end of their keys. The first one of a key
	// without a head and without others is its head.
	sortNew = `
WITH fresh AS MATERIALIZED (
     SELECT ctid AS place, order_key, order_xid, order_place FROM delivery_queue` + sortable + `
        AND xmax = pg_current_xact_id()::xid
      ORDER BY order_xid, order_place LIMIT $1
), numbered AS (
     SELECT k.*, row_number() OVER (PARTITION BY order_key ORDER BY order_xid, order_place) AS n
       FROM fresh AS k
), known AS (
     SELECT k.*,
            CASE WHEN k.n = 1 THEN coalesce((
                 SELECT q.order_place FROM delivery_queue AS q
                  WHERE q.order_key = k.order_key AND q.order_state = 'waiting'
                  ORDER BY q.order_place DESC LIMIT 1), 0) END AS last,
            CASE WHEN k.n = 1 THEN` + hasHead + ` END AS has_head
       FROM numbered AS k
), placed AS (
     SELECT place, n + max(last) OVER (PARTITION BY order_key) AS order_place,
            n = 1 AND last = 0 AND NOT has_head AS is_head
       FROM known
), sorted AS (
     UPDATE delivery_queue AS q
        SET order_state = CASE WHEN p.is_head THEN 'head' ELSE 'waiting' END, order_place = p.order_place,
            due_at = CASE WHEN p.is_head THEN statement_timestamp() ELSE 'infinity' END,
            head_since = CASE WHEN p.is_head THEN statement_timestamp() END
       FROM placed AS p WHERE q.ctid = p.place
  RETURNING q.destination_id, p.is_head
)
SELECT DISTINCT destination_id FROM sorted WHERE is_head`
)

// noteHeadless notes the keys after $1 that have deliveries behind a head, and none. It reads up to $2 keys, each by a descent of
// an index. Keys whose head has ended just now are noted twice, which does nothing. It stops at 10,000 notes.
const noteHeadless = `
WITH RECURSIVE keys (order_key) AS (
     (SELECT order_key FROM delivery_queue WHERE order_state = 'waiting' AND order_key > $1 ORDER BY order_key LIMIT 1)
      UNION ALL
     SELECT (SELECT q.order_key FROM delivery_queue AS q
              WHERE q.order_state = 'waiting' AND q.order_key > keys.order_key ORDER BY q.order_key LIMIT 1)
       FROM keys WHERE keys.order_key IS NOT NULL
), page AS MATERIALIZED (
     SELECT order_key FROM keys WHERE order_key IS NOT NULL LIMIT $2
), noted AS (
     INSERT INTO delivery_order_freed (order_key)
     SELECT k.order_key FROM page AS k
      WHERE NOT` + hasHead + ` AND NOT EXISTS (SELECT FROM delivery_order_freed OFFSET 10000)
  RETURNING order_key
)
SELECT (SELECT count(*) FROM page), coalesce((SELECT max(order_key) FROM page), ''), EXISTS (SELECT FROM noted)`

const (
	// sortedAtOnce bounds the deliveries, and the keys, that one transaction sorts.
	sortedAtOnce = 500
	// adoptedAtOnce bounds the deliveries that one transaction adopts.
	adoptedAtOnce = 5000
	// While older transactions are open, the sorter looks again after minHorizonPause, and up to maxHorizonPause later each time.
	minHorizonPause, maxHorizonPause = 5 * time.Millisecond, time.Second
)

// unsorted is what there is to sort.
type unsorted struct{ isFreed, isNew, isSortable, isRestored bool }

// SortOrdered makes deliveries the heads of their keys: those that are next where a head has ended, and the first ones of keys
// without a head. It reports whether there may be more to do. If all that is left waits for older transactions, it pauses first,
// until Sorts receives a value or for up to a second.
//
// Several processes may call it: they wait for each other. What a crash of the server undoes is done again.
func (s *Store) SortOrdered(ctx context.Context) (more bool, err error) {
	defer postgres.Annotate(&err, "sort ordered deliveries")
	var u unsorted
	if err := s.db.QueryRow(ctx, readUnsorted).Scan(&u.isFreed, &u.isNew, &u.isSortable, &u.isRestored); err != nil {
		return false, err
	}
	switch {
	case u.isFreed || u.isSortable || u.isRestored:
		s.horizonPause = 0
		return true, s.sortOnce(ctx, u)
	case u.isNew:
		s.awaitHorizon(ctx)
		return true, nil
	}
	return false, nil
}

func (s *Store) sortOnce(ctx context.Context, u unsorted) error {
	heads := map[int64]struct{}{}
	var id int64
	collect := postgres.ForEach([]any{&id}, func() { heads[id] = struct{}{} })
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(postgres.CommitAsync)
	b.Queue(lockSorter)
	if u.isFreed {
		b.Queue(lockNext, sortedAtOnce)
		b.Queue(promote, sortedAtOnce).Query(collect)
		b.Queue(forgetFreed, sortedAtOnce)
	}
	if u.isRestored {
		b.Queue(adoptRestored, adoptedAtOnce)
	} else if u.isSortable {
		b.Queue(lockNew, sortedAtOnce)
		b.Queue(sortNew, sortedAtOnce).Query(collect)
	}
	if err := s.db.SendOnly(ctx, b); err != nil {
		return err
	}
	for id := range heads {
		s.MadeDue(id)
	}
	return nil
}

// FreeHeadless finds keys whose head has ended without a note, which nothing else would find: it was deleted while triggers were
// disabled, or tables were restored one by one. It reads a page of keys, and reports whether there are more. Only one goroutine
// may call it.
func (s *Store) FreeHeadless(ctx context.Context) (more bool, err error) {
	var read int
	var isNoted bool
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(noteHeadless, s.headlessAfter, sortedAtOnce).QueryRow(func(row pgx.Row) error {
		return row.Scan(&read, &s.headlessAfter, &isNoted)
	})
	if err := s.db.SendOnly(ctx, b); err != nil {
		return false, postgres.Failure("find keys without a head", err)
	}
	if isNoted {
		s.SignalSort()
	}
	if read < sortedAtOnce {
		s.headlessAfter = ""
	}
	return read == sortedAtOnce, nil
}

// awaitHorizon waits before the next look for the end of older transactions. Only the goroutine of SortOrdered uses
// s.horizonPause.
func (s *Store) awaitHorizon(ctx context.Context) {
	s.horizonPause = min(max(2*s.horizonPause, minHorizonPause), maxHorizonPause)
	timer := time.NewTimer(s.horizonPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.sorts:
	case <-timer.C:
	}
}

// Sorts receives a value when there is something for SortOrdered to do. It has a buffer of one.
func (s *Store) Sorts() <-chan struct{} { return s.sorts }

// SignalSort sends a value to Sorts, unless one is pending.
func (s *Store) SignalSort() {
	select {
	case s.sorts <- struct{}{}:
	default:
	}
}
