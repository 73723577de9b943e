package outbox

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/persistence/changes"
	"holdfast/persistence/postgres"
)

// settleFirst is settle for the usual outcome: a successful first attempt at a healthy destination, whose row it doesn't change.
// Rows in any other state are skipped, and so are rows that change between the snapshot and their lock: settle handles both.
// leaseDue explains why rows are joined by their ctid.
const settleFirst = `
WITH o AS MATERIALIZED (
     SELECT o.*, q.place
       FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::integer[], $5::bytea[])
              AS o (event_id, subscription_id, code, ms, answer)
      CROSS JOIN LATERAL (
            SELECT ctid AS place FROM delivery_queue AS q
             WHERE q.event_id = o.event_id AND q.subscription_id = o.subscription_id FOR UPDATE) AS q
      WHERE NOT EXISTS (
            SELECT FROM destination_states AS s
             WHERE s.destination_id = ANY ($6::bigint[]) AND ` + unhealthy + `)
), ended AS (
     DELETE FROM delivery_queue AS q USING o
      WHERE q.ctid = o.place AND q.generation = 0 AND q.attempts = 0
  RETURNING o.*, q.destination_id, q.queued_at
), ended_rows AS (
` + insertEnded + `SELECT event_id, subscription_id, destination_id, 'delivered', code, 1, 0, ms, answer, queued_at FROM ended` +
	replaceEnded + `
      WHERE d.generation = 0
), reported AS (
     SELECT event_id, subscription_id, 'delivered' AS action, code FROM ended
), noted AS (` + changes.ReportDeliveries + `
)
SELECT count(*) FROM ended`

// settleFirst settles a batch in one round trip if it consists of first successes. Unless all is true, the caller must run settle
// for the batch; settle ignores successes that are recorded already.
func (s *Store) settleFirst(ctx context.Context, outcomes []delivery.Outcome) (all bool, err error) {
	if slices.ContainsFunc(outcomes, func(o delivery.Outcome) bool {
		return o.Kind != delivery.OK || o.Attempts > 0 || o.Generation > 0
	}) {
		return false, nil
	}
	each := oneEach(outcomes)
	ended, then := 0, &pgx.Batch{}
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	b.Queue(settleFirst,
		postgres.Column(each, func(o delivery.Outcome) string { return o.EventID }),
		postgres.Column(each, func(o delivery.Outcome) int64 { return o.SubscriptionID }),
		postgres.Column(each, codeOf), postgres.Column(each, msOf), answersOf(each), destinationsOf(each, anyKind),
	).QueryRow(func(row pgx.Row) error { return row.Scan(&ended) })
	s.queueFree(then, each)
	if err := s.db.WholeThen(ctx, b, then); err != nil {
		return false, err
	}
	return ended == len(each), nil
}
