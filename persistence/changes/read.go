package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/feed"
	"holdfast/persistence/postgres"
)

const (
	// readChanges returns whole rows until they contain the requested number of items. A transaction still in progress may write
	// rows that precede those of later transactions, so nothing from the oldest such transaction on is read. Numbers given as text
	// are ordered as numbers.
	readChanges = `
SELECT xid::text, seq, at, items FROM (
       SELECT xid, seq, at, items, sum(n) OVER (ORDER BY xid, seq) - n AS before FROM (
              SELECT xid, seq, at, n, items FROM changes
               WHERE (xid, seq) >= ($1::text::xid8, $2::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
               ORDER BY xid, seq LIMIT $3) AS next) AS page
 WHERE before < $4
 ORDER BY page.xid, page.seq -- and not the text of it`

	// readEnd runs before the rows are read: all rows of earlier transactions are then among them.
	readEnd = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text`

	// readHead runs after the read that it checks, so that it shows rows removed meanwhile.
	readHead = `
SELECT epoch, lost::text, pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text,
       identity <> feed_identity()
           OR EXISTS (SELECT FROM changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))
  FROM feed_head WHERE one`

	// Times follow the order of transactions only approximately.
	firstAt = `SELECT xid::text FROM changes WHERE at >= $1 ORDER BY at LIMIT 1`

	lockHead = `SELECT FROM feed_head WHERE one FOR UPDATE`

	// raiseEpoch removes rows whose transaction IDs this cluster has not reached yet, since it will assign them again.
	raiseEpoch = `
WITH gone AS (DELETE FROM changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) RETURNING 1)
UPDATE feed_head SET epoch = epoch + 1, identity = feed_identity(), lost = '0'
 WHERE one AND (identity <> feed_identity() OR EXISTS (SELECT FROM gone))`
)

// maxRows bounds the rows of a page, whatever they contain.
const maxRows = 500

// Changes returns the next page after a cursor: at least one change if there is any, and at most limit. The error is
// feed.ErrResync if the cursor is of another epoch, or if changes after it were removed. The zero cursor precedes the oldest
// stored change.
func (s *Store) Changes(ctx context.Context, after feed.Cursor, limit int) (p feed.Page, err error) {
	const doing = "read changes"
	var h head
	var rows []row
	var end uint64
	for range 2 {
		if h, rows, end, err = s.read(ctx, after, limit); err != nil {
			return p, postgres.Failure(doing, err)
		}
		if !h.isStale {
			break
		}
		if err := s.raise(ctx); err != nil {
			return p, postgres.Failure("begin an epoch of the feed", err)
		}
	}
	if after != (feed.Cursor{}) && !h.holds(after) {
		return p, feed.ErrResync
	}
	p, err = cut(rows, feed.Cursor{Epoch: h.epoch, XID: after.XID, Seq: after.Seq, Item: after.Item}, limit)
	if last := (feed.Cursor{Epoch: h.epoch, XID: end}); err == nil && !p.More && p.Next.Compare(last) < 0 {
		p.Next = last // a reader that is up to date stays so when the last row it read is removed
	}
	return p, postgres.Failure(doing, err)
}

// Now returns the cursor behind all finished transactions: a client that reads a state after that, and follows the feed from
// there, misses nothing.
func (s *Store) Now(ctx context.Context) (feed.Cursor, error) {
	h, err := s.current(ctx)
	return feed.Cursor{Epoch: h.epoch, XID: h.xmin}, postgres.Failure("read end of changes", err)
}

// Since returns a cursor before all changes from a time on; changes of the preceding minutes may follow it, too.
func (s *Store) Since(ctx context.Context, at time.Time) (feed.Cursor, error) {
	const doing = "look for changes since a time"
	h, err := s.current(ctx)
	if err != nil {
		return feed.Cursor{}, postgres.Failure(doing, err)
	}
	rows, err := pgx.CollectRows(s.db.Rows(ctx, firstAt, at.Add(-margin)), pgx.RowTo[string])
	if err != nil || len(rows) == 0 {
		return feed.Cursor{Epoch: h.epoch, XID: h.xmin}, postgres.Failure(doing, err)
	}
	c := feed.Cursor{Epoch: h.epoch}
	_, err = fmt.Sscan(rows[0], &c.XID)
	c.XID = min(c.XID, h.xmin)
	return c, postgres.Failure(doing, err)
}

// margin is how much later than its first write a transaction may write its changes.
const margin = time.Minute

func (s *Store) current(ctx context.Context) (h head, err error) {
	for range 2 {
		if err = s.db.QueryRow(ctx, readHead).Scan(h.columns()...); err != nil || !h.isStale {
			return h, err
		}
		if err = s.raise(ctx); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (s *Store) read(ctx context.Context, after feed.Cursor, limit int) (h head, rows []row, end uint64, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(readEnd).QueryRow(func(r pgx.Row) error { return r.Scan((*number)(&end)) })
	b.Queue(readChanges, fmt.Sprint(after.XID), after.Seq, maxRows, limit+after.Item).Query(func(found pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(found, scanRow)
		return err
	})
	b.Queue(readHead).QueryRow(func(r pgx.Row) error { return r.Scan(h.columns()...) })
	return h, rows, end, s.db.SendRead(ctx, b)
}

// raise begins a new epoch, unless another process has just done so.
func (s *Store) raise(ctx context.Context) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(`SELECT set_config('statement_timeout', '0', true)`)
	b.Queue(lockHead)
	b.Queue(raiseEpoch)
	return s.db.SendOnly(ctx, b)
}

// head is the state of the feed.
type head struct {
	epoch            int32
	lost, xmin, xmax uint64
	// isStale reports that the transaction IDs belong to another cluster, or to this one before a restore.
	isStale bool
}

func (h *head) columns() []any {
	return []any{&h.epoch, (*number)(&h.lost), (*number)(&h.xmin), (*number)(&h.xmax), &h.isStale}
}

// holds reports whether all changes after a cursor are still stored.
func (h *head) holds(c feed.Cursor) bool {
	return c.Epoch == h.epoch && c.XID <= h.xmax && (h.lost == 0 || c.XID > h.lost)
}

// number is an xid8, which is transferred as text.
type number uint64

// Scan implements sql.Scanner.
func (n *number) Scan(value any) error {
	_, err := fmt.Sscan(value.(string), (*uint64)(n))
	return err
}

// row holds the changes of one statement of a transaction.
type row struct {
	xid   uint64
	seq   int64
	at    time.Time
	items json.RawMessage
}

func scanRow(r pgx.CollectableRow) (one row, err error) {
	err = r.Scan((*number)(&one.xid), &one.seq, &one.at, &one.items)
	return one, err
}

// cut makes a page from rows. The first row may have been read in part already.
func cut(rows []row, after feed.Cursor, limit int) (feed.Page, error) {
	p, read := feed.Page{Next: after}, 0
	for _, r := range rows {
		var reported []feed.Change
		if err := json.Unmarshal(r.items, &reported); err != nil {
			return p, fmt.Errorf("decode changes: %w", err)
		}
		at := feed.Cursor{Epoch: after.Epoch, XID: r.xid, Seq: r.seq}
		if r.xid == after.XID && r.seq == after.Seq {
			at.Item = min(after.Item, len(reported))
		}
		for _, c := range reported[at.Item:] {
			if len(p.Items) == limit {
				p.More = true
				return p, nil
			}
			at.Item++
			c.At, c.Cursor, p.Next = r.at, at, at
			p.Items = append(p.Items, c)
		}
		p.Next = feed.Cursor{Epoch: at.Epoch, XID: r.xid, Seq: r.seq + 1}
		read += len(reported)
	}
	p.More = len(rows) == maxRows || read >= limit+after.Item
	return p, nil
}

// Store stores the change feed. It is safe for concurrent use.
type Store struct{ db *postgres.DB }

// New makes one on a database.
func New(db *postgres.DB) *Store { return &Store{db: db} }

const (
	// behind is how long the first change that can't be read yet has been waiting.
	behind = `
SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM changes
                  WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq LIMIT 1), 0)`

	// blockers are the oldest transactions that write, in any database of the cluster. Processes of other roles are visible; whether
	// they write is visible only to a role that may read statistics.
	blockers = `
SELECT pid, coalesce(datname, ''), coalesce(usename, ''), application_name, coalesce(xact_start, now()), ''
  FROM (SELECT * FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY age(backend_xid) DESC LIMIT 3) AS open
 UNION ALL
SELECT 0, database, owner, '', prepared, gid FROM (SELECT * FROM pg_prepared_xacts ORDER BY prepared LIMIT 3) AS prepared`
)

// FeedBehind returns how long the first change that can't be read yet has been waiting; 0 if there is none.
func (s *Store) FeedBehind(ctx context.Context) (time.Duration, error) {
	var seconds float64
	err := s.db.QueryRow(ctx, behind).Scan(&seconds)
	return time.Duration(max(seconds, 0) * float64(time.Second)), postgres.Failure("read lag of changes", err)
}

// FeedLag returns how far the feed is behind, and which transactions block it.
func (s *Store) FeedLag(ctx context.Context) (l feed.Lag, err error) {
	if l.Behind, err = s.FeedBehind(ctx); err != nil {
		return l, err
	}
	l.Blockers, err = pgx.CollectRows(s.db.Rows(ctx, blockers), pgx.RowToStructByPos[feed.Blocker])
	return l, postgres.Failure("read what blocks the feed", err)
}
