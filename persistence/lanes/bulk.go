package lanes

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
	"holdfast/persistence/records"
)

const (
	// claimRows skips rows locked by another batch. The index on arrival serves and bounds it. A body that doesn't fit into the
	// page is null.
	claimRows = `
SELECT i.workflow_id, i.place, i.receipt, i.event_id::text, i.provider, i.received_at,
       CASE WHEN ` + postgres.FitsPage + ` THEN i.raw_body END,
       EXISTS (SELECT FROM (SELECT subscription_id, state FROM dead_letters WHERE workflow_id = i.workflow_id OFFSET 0) AS d
                WHERE d.subscription_id = 0 AND d.state IN ('open', 'replaying', 'exhausted'))
  FROM (SELECT *, ctid::text AS place, octet_length(raw_body) AS size FROM inbox
         WHERE lane = 'bulk' ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED) AS i
WINDOW page AS (ORDER BY i.seq)
 ORDER BY i.seq`

	// lockClaimed names the other lanes, so that no plan reads the whole bulk lane.
	lockClaimed = `
SELECT event_id::text, ctid::text FROM inbox
 WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[]) AND lane NOT IN ('overflow', 'copy') FOR UPDATE SKIP LOCKED`

	deleteClaimed = `DELETE FROM inbox WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[])`

	moveToOverflow = `
UPDATE inbox SET lane = 'overflow', due_at = now() WHERE workflow_id = ANY ($1) AND event_id = ANY ($2::uuid[])`
)

// Row is a row of the bulk lane that a batch has claimed.
type Row struct {
	WorkflowID string // as stored
	Place      string // its ctid, until the transaction ends that has claimed or locked it
	Receipt    event.Receipt
	IsReadable bool // its receipt can be parsed
	Body       []byte
	// HasDeadLetter means that its key has an open dead letter.
	HasDeadLetter bool
}

// QueueClaim locks up to limit rows until the transaction ends, and takes the oldest whose bodies have at most
// postgres.MaxPageBytes.
func QueueClaim(b *pgx.Batch, limit int, take func(Row)) {
	b.Queue(claimRows, limit).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var r Row
			var receipt []byte
			var id, provider string
			var receivedAt time.Time
			if err := rows.Scan(&r.WorkflowID, &r.Place, &receipt, &id, &provider, &receivedAt, &r.Body, &r.HasDeadLetter); err != nil {
				return err
			}
			if r.Body == nil {
				continue
			}
			r.Receipt, r.IsReadable = records.ReadReceipt(receipt, r.WorkflowID, id, provider, receivedAt)
			take(r)
		}
		return rows.Err()
	})
}

// QueueLock locks rows again that were claimed before, and adds their places to held, by the ID of the event.
func QueueLock(b *pgx.Batch, rows []Row, held map[string]string) {
	workflowIDs, ids := idsOf(rows)
	var id, place string
	b.Queue(lockClaimed, workflowIDs, ids).Query(postgres.ForEach([]any{&id, &place}, func() { held[id] = place }))
}

// QueueRemoval removes claimed rows from the inbox.
func QueueRemoval(b *pgx.Batch, rows []Row) { queue(b, deleteClaimed, rows) }

// QueueOverflow moves claimed rows to the overflow lane.
func QueueOverflow(b *pgx.Batch, rows []Row) { queue(b, moveToOverflow, rows) }

func queue(b *pgx.Batch, statement string, rows []Row) {
	if len(rows) > 0 {
		workflowIDs, ids := idsOf(rows)
		b.Queue(statement, workflowIDs, ids)
	}
}

func idsOf(rows []Row) (workflowIDs, ids []string) {
	return postgres.Column(rows, func(r Row) string { return r.WorkflowID }),
		postgres.Column(rows, func(r Row) string { return r.Receipt.ID })
}
