package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	insertRows = `
INSERT INTO import_rows (import_id, seq, item, body, event_id)
SELECT $1, seq, item, body, nullif(event_id, '')::uuid
  FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::text[]) AS row (seq, item, body, event_id)`

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

// StageImport stores items for an import that will be created later: the first has the number from, in the order in which they
// will be applied.
func (s *Store) StageImport(ctx context.Context, id string, from int64, items []operation.ImportItem) error {
	seqs, rows, bodies := make([]int64, len(items)), make(postgres.ByteaArray, len(items)), make(postgres.ByteaArray, len(items))
	events := make([]string, len(items))
	for i, item := range items {
		encoded, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("encode line %d of an import: %w", item.Line, err)
		}
		seqs[i], rows[i], bodies[i], events[i] = from+int64(i), encoded, postgres.Bytea(item.Body), item.Receipt.ID
	}
	_, err := s.DB.Exec(ctx, insertRows, id, seqs, rows, bodies, events)
	return postgres.Failure("keep lines of import "+id, err)
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
