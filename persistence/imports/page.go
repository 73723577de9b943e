package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

const (
	nextRows = `
SELECT seq, item, body FROM (
       SELECT *, ` + postgres.FitsPage + ` AS fits FROM (
              SELECT *, octet_length(item) + octet_length(body) AS size
                FROM import_rows WHERE import_id = $1 ORDER BY seq LIMIT $2) AS sized
       WINDOW page AS (ORDER BY seq)) AS next
 WHERE fits ORDER BY seq`

	dropApplied = `DELETE FROM import_rows WHERE import_id = $1 AND seq <= $2`

	advanceImport = `
UPDATE imports
   SET read = read + $2, counts = $3::jsonb, problems = $4::jsonb,
       providers = ARRAY(SELECT DISTINCT unnest(providers || $5::text[]) ORDER BY 1)
 WHERE id = $1`
)

// Page applies the next n items of an import, and removes them from the staged ones, in one transaction: if it is killed before
// its commit it has done nothing. Items that the store can't accept are reported, and skipped. An import that isn't running is
// only read; the rest of a canceled one is removed, and one with nothing left is completed.
func (s *Store) Page(ctx context.Context, id string, n int, parse event.Parser) (operation.Import, error) {
	i, err := writer.Narrow(n, "apply line", func(n int, fault error) (operation.Import, error) {
		return s.tryPage(ctx, id, n, parse, fault)
	})
	if err == nil && i.State == operation.Canceled {
		err = s.DropImport(ctx, id)
	}
	return i, postgres.Failure("import page of "+postgres.Clean(id), err)
}

func (s *Store) tryPage(ctx context.Context, id string, n int, parse event.Parser, fault error) (operation.Import, error) {
	var of operation.Import
	var rows kept
	b := &pgx.Batch{}
	writer.QueueTimeouts(b, n)
	s.QueueLock(b, id, func(row pgx.Row) (err error) {
		of, err = scanImport(row)
		return err
	})
	b.Queue(nextRows, postgres.Clean(id), n).Query(rows.collect)
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return operation.Import{}, err
	}
	defer tx.Rollback(ctx)
	if of.State != operation.Running {
		return of, nil
	}
	if len(rows.items) == 0 {
		b = &pgx.Batch{}
		s.QueueEnd(b, of.ID, operation.Completed)
		if err := tx.Commit(ctx, b); err != nil {
			return operation.Import{}, err
		}
		return s.Read(ctx, id)
	}
	p, err := newPage(of.ID, rows.items, parse, fault)
	if err != nil {
		return operation.Import{}, err
	}
	if err := p.findLetters(ctx, tx); err != nil {
		return operation.Import{}, err
	}
	if err := s.writer.Import(ctx, tx, p.imported(), false, func(b *pgx.Batch) {
		p.queueLetters(b)
		p.queueAdvance(b, of, rows.seqs[len(p.items)-1])
	}); err != nil {
		return operation.Import{}, err
	}
	return s.Read(ctx, id)
}

// kept holds staged rows of an import.
type kept struct {
	seqs  []int64
	items []operation.ImportItem
}

func (k *kept) collect(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var encoded, body []byte
		if err := rows.Scan(&seq, &encoded, &body); err != nil {
			return err
		}
		var item operation.ImportItem
		if err := json.Unmarshal(encoded, &item); err != nil {
			return fmt.Errorf("decode line of an import: %w", err)
		}
		item.Body = body
		k.seqs, k.items = append(k.seqs, seq), append(k.items, item)
	}
	return rows.Err()
}

// TryImport returns what would happen to items if they were imported now, and changes nothing: its transactions are rolled back.
// Two items of the same key in two calls both count as new.
func (s *Store) TryImport(
	ctx context.Context, items []operation.ImportItem, parse event.Parser,
) (counts operation.ImportCounts, problems []operation.ImportProblem, err error) {
	counts = operation.ImportCounts{}
	for len(items) > 0 {
		p, err := writer.Narrow(len(items), "try line", func(n int, fault error) (*page, error) {
			return s.tryTrial(ctx, items[:n], parse, fault)
		})
		if err != nil {
			return counts, problems, postgres.Failure("try import", err)
		}
		items = items[len(p.items):]
		counts.AddAll(p.counts)
		problems = append(problems, p.problems...)
	}
	return counts, problems, nil
}

func (s *Store) tryTrial(ctx context.Context, items []operation.ImportItem, parse event.Parser, fault error) (*page, error) {
	p, err := newPage("", items, parse, fault)
	if err != nil {
		return nil, err
	}
	b := &pgx.Batch{}
	writer.QueueTimeouts(b, len(items))
	tx, err := s.DB.Begin(ctx, b)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	if err := p.findLetters(ctx, tx); err != nil {
		return nil, err
	}
	return p, s.writer.Import(ctx, tx, p.imported(), true, func(b *pgx.Batch) {
		p.queueLetters(b)
		p.count()
	})
}

// isMissingHere reports that this process lacks the definition, which is not the item's fault.
func isMissingHere(err error) bool {
	var known *event.Error
	return errors.As(err, &known) && (known.Class == event.ClassTransient || known.Code == "unknown_provider")
}
