package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/feed"
	"holdfast/persistence/postgres"
)

const (
	// readChanges gives whole rows until they hold so many items. A transaction that has not ended may still write a row before
	// those of later ones, so nothing from the oldest of them on is read. What
	// is given as text is ordered as a number.
	readChanges = `
SELECT xid::text, seq, at, items FROM (
       SELECT xid, seq, at, items, sum(n) OVER (ORDER BY xid, seq) - n AS before FROM (
              SELECT xid, seq, at, n, items FROM changes
               WHERE (xid, seq) >= ($1::text::xid8, $2::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
               ORDER BY xid, seq LIMIT $3) AS next) AS page
 WHERE before < $4
 ORDER BY page.xid, page.seq -- and not the text of it`

	// readEnd comes before the rows: all of transactions before it are among them.
	readEnd = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text`

	// readHead comes after what it judges has been read: what was removed meanwhile shows in it.
	readHead = `
SELECT epoch, lost::text, pg_snapshot_xmin(pg_current_snapshot())::text, pg_snapshot_xmax(pg_current_snapshot())::text,
       identity <> feed_identity()
           OR EXISTS (SELECT FROM changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))
  FROM feed_head WHERE one`

	// The order of times is that of transactions only about.
	firstAt = `SELECT xid::text FROM changes WHERE at >= $1 ORDER BY at LIMIT 1`

	lockHead = `SELECT FROM feed_head WHERE one FOR UPDATE`

	// raiseEpoch removes rows of transactions that this cluster has not had yet, whose IDs will come again.
	raiseEpoch = `
WITH gone AS (DELETE FROM changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) RETURNING 1)
UPDATE feed_head SET epoch = epoch + 1, identity = feed_identity(), lost = '0'
 WHERE one AND (identity <> feed_identity() OR EXISTS (SELECT FROM gone))`
)

// maxRows bounds what one page reads, whatever is in its rows.
const maxRows = 500

// Changes is the next page after a cursor: at least one change if there is any, and at most limit. The error is feed.ErrResync if
// the cursor is of another epoch, or if changes after it are gone. The zero cursor is before the first one that is kept.
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
		p.Next = last // who has read all is not behind when what was read last is removed
	}
	return p, postgres.Failure(doing, err)
}

// Now is the place behind all that has ended: who reads a state after that, and follows the feed from there, misses nothing.
func (s *Store) Now(ctx context.Context) (feed.Cursor, error) {
	h, err := s.current(ctx)
	return feed.Cursor{Epoch: h.epoch, XID: h.xmin}, postgres.Failure("read end of changes", err)
}

// Since is a place before all changes from a time on; those of the minutes before may follow it, too.
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

// margin is how much longer than its first write a transaction may have taken to tell of it.
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
	return h, rows, end, s.db.Look(ctx, b)
}

// raise begins a new epoch, unless somebody else has just done so.
func (s *Store) raise(ctx context.Context) error {
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(`SELECT set_config('statement_timeout', '0', true)`)
	b.Queue(lockHead)
	b.Queue(raiseEpoch)
	return s.db.SendOnly(ctx, b)
}

// head is where the feed stands.
type head struct {
	epoch            int32
	lost, xmin, xmax uint64
	// isStale: these are the transactions of another cluster, or of another life of this one.
	isStale bool
}

func (h *head) columns() []any {
	return []any{&h.epoch, (*number)(&h.lost), (*number)(&h.xmin), (*number)(&h.xmax), &h.isStale}
}

// holds says whether all changes after a cursor are still there.
func (h *head) holds(c feed.Cursor) bool {
	return c.Epoch == h.epoch && c.XID <= h.xmax && (h.lost == 0 || c.XID > h.lost)
}

// number is an xid8, which comes as text.
type number uint64

// Scan implements sql.Scanner.
func (n *number) Scan(value any) error {
	_, err := fmt.Sscan(value.(string), (*uint64)(n))
	return err
}

// row is what one statement of a transaction has told.
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

// cut makes a page of rows, the first of which may have been read in part.
func cut(rows []row, after feed.Cursor, limit int) (feed.Page, error) {
	p, read := feed.Page{Next: after}, 0
	for _, r := range rows {
		var told []feed.Change
		if err := json.Unmarshal(r.items, &told); err != nil {
			return p, fmt.Errorf("decode changes: %w", err)
		}
		at := feed.Cursor{Epoch: after.Epoch, XID: r.xid, Seq: r.seq}
		if r.xid == after.XID && r.seq == after.Seq {
			at.Item = min(after.Item, len(told))
		}
		for _, c := range told[at.Item:] {
			if len(p.Items) == limit {
				p.More = true
				return p, nil
			}
			at.Item++
			c.At, c.Cursor, p.Next = r.at.UTC(), at, at
			p.Items = append(p.Items, c)
		}
		p.Next = feed.Cursor{Epoch: at.Epoch, XID: r.xid, Seq: r.seq + 1}
		read += len(told)
	}
	p.More = len(rows) == maxRows || read >= limit+after.Item
	return p, nil
}
