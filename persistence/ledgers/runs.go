package ledgers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/persistence/postgres"
)

const (
	batchedOfLedger = `
SELECT l.workflow_id
  FROM unnest($1::text[]) AS asked (workflow_id)
  JOIN ledger_keys AS l USING (workflow_id)
  JOIN idempotency_keys AS k ON k.provider = l.provider AND k.key = l.key
  JOIN events AS e ON e.id = k.event_id
 WHERE e.workflow_id <> l.workflow_id`

	notDeadOfLedger = `
SELECT workflow_id FROM unnest($1::text[]) AS asked (workflow_id)
 WHERE NOT EXISTS (SELECT FROM dead_letters AS d WHERE d.workflow_id = asked.workflow_id AND d.subscription_id = 0)`
)

// Batched returns the workflow IDs whose events were processed by another workflow: that of a batch.
func (c *LedgerCheck) Batched(ctx context.Context, workflowIDs []string) ([]string, error) {
	return c.names(ctx, batchedOfLedger, workflowIDs)
}

// NotDead returns the workflow IDs that have no dead letter, not even a closed one.
func (c *LedgerCheck) NotDead(ctx context.Context, workflowIDs []string) ([]string, error) {
	return c.names(ctx, notDeadOfLedger, workflowIDs)
}

func (c *LedgerCheck) names(ctx context.Context, query string, workflowIDs []string) ([]string, error) {
	rows, _ := c.conn.Query(ctx, query, workflowIDs)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, postgres.Failure("look for workflows of ledger", err)
}
