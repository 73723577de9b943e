package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// insertRows appends rows to those staged under an ID. $5 allows the first ones. Once the import exists, there are no more.
	insertRows = `
INSERT INTO import_rows (import_id, seq, item, body, event_id)
SELECT $1, staged.n + row.n - 1, item, body, nullif(event_id, '')::uuid
  FROM (SELECT coalesce(max(seq) + 1, 0) AS n FROM import_rows WHERE import_id = $1) AS staged
 CROSS JOIN unnest($2::bytea[], $3::bytea[], $4::text[]) WITH ORDINALITY AS row (item, body, event_id, n)
 WHERE ($5 OR staged.n > 0) AND NOT EXISTS (SELECT FROM imports WHERE id = $1)`

	// dropRows removes some staged rows, unless their import still has to apply them: a client that has requested an import and got
	// no response doesn't know whether it exists.
	dropRows = `
DELETE FROM import_rows
 WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM import_rows
        WHERE import_id = $1 AND NOT EXISTS (SELECT FROM imports WHERE id = $1 AND state IN ('running', 'paused'))
        ORDER BY seq LIMIT $2))`

	// dropAbandoned removes some rows whose import has ended, or was never created.
	dropAbandoned = `
DELETE FROM import_rows
 WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM import_rows AS r
        WHERE import_id < $1
          AND NOT EXISTS (SELECT FROM imports AS i WHERE i.id = r.import_id AND i.state IN ('running', 'paused'))
        ORDER BY import_id, seq LIMIT $2))`

	// rowsPerDrop bounds the duration of a transaction that only removes.
	rowsPerDrop = 2000
	// abandonedAfter is the maximum time for reading a file.
	abandonedAfter = 24 * time.Hour
)

// StageImport stores items for an import that will be created later, after the ones that are staged under its ID. The first are
// new. The error is event.ErrNotFound if none are staged, or no more: the import exists, or the rows were dropped.
func (s *Store) StageImport(ctx context.Context, id string, isNew bool, items []operation.ImportItem) error {
	if isNew {
		if err := s.dropAbandoned(ctx); err != nil {
			return err
		}
	}
	rows, bodies, events := make(postgres.ByteaArray, len(items)), make(postgres.ByteaArray, len(items)), make([]string, len(items))
	for i, item := range items {
		encoded, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("encode line %d of an import: %w", item.Line, err)
		}
		rows[i], bodies[i], events[i] = encoded, postgres.Bytea(item.Body), item.Receipt.ID
	}
	staged, err := s.DB.Exec(ctx, insertRows, postgres.Clean(id), rows, bodies, events, isNew)
	if err == nil && staged.RowsAffected() == 0 {
		return fmt.Errorf("keep lines of import %s: %w", postgres.Clean(id), event.ErrNotFound)
	}
	return postgres.Failure("keep lines of an import", err)
}

// DropImport removes the staged items that an import has not applied. It doesn't change one that is running or paused.
func (s *Store) DropImport(ctx context.Context, id string) error {
	return s.drop(ctx, "drop lines of import "+postgres.Clean(id), dropRows, postgres.Clean(id))
}

// dropAbandoned removes the rows left by clients that died while they read a file.
func (s *Store) dropAbandoned(ctx context.Context) error {
	bound := time.Now().Add(-abandonedAfter).UTC().Format("20060102-150405") // prefix of operation IDs
	return s.drop(ctx, "drop lines of abandoned imports", dropAbandoned, bound)
}

func (s *Store) drop(ctx context.Context, doing, sql, bound string) error {
	for dropped := int64(rowsPerDrop); dropped == rowsPerDrop; {
		b := &pgx.Batch{}
		b.Queue(`SELECT ` + postgres.SettingsOfPlans)
		b.Queue(sql, bound, rowsPerDrop).Exec(postgres.CountInto(&dropped))
		if err := s.DB.SendOnly(ctx, b); err != nil {
			return postgres.Failure(doing, err)
		}
	}
	return nil
}
