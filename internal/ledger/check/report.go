package check

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/internal/ledger"
	"holdfast/persistence/postgres"
)

// maxExamples is how many violations of an invariant are named.
const maxExamples = 10

// The stored data of the ledger's events, found by key, by workflow, and among everything received while the ledger was written.
// The last also finds events that have the ID of a run and were never sent. An edited event has its own key, and was not sent.
const (
	makeLedgerStored = `
CREATE TEMP TABLE ledger_events (
    id uuid, workflow_id text, status text, sha256 bytea, received_at timestamptz, processed_at timestamptz,
    dedupe_window interval) ON COMMIT DROP;
CREATE TEMP TABLE ledger_dead (event_id uuid, workflow_id text, state text, sha256 bytea) ON COMMIT DROP;
CREATE TEMP TABLE ledger_inbox (workflow_id text, sha256 bytea) ON COMMIT DROP;
CREATE TEMP TABLE feed_items ON COMMIT DROP AS
SELECT i.* FROM changes CROSS JOIN LATERAL json_to_recordset(items)
       AS i (subject text, action text, provider text, kind text, id text, revision bigint)
 WHERE i.subject IN ('event', 'entity')`

	findLedgerEvents = `
WITH found AS (
       SELECT k.event_id AS id FROM ledger_keys AS l JOIN idempotency_keys AS k USING (provider, key)
        UNION
       SELECT e.id FROM ledger_keys AS l JOIN events AS e USING (workflow_id)
        UNION
       SELECT id FROM events
        WHERE id >= $1::uuid AND id < $2::uuid
          AND (EXISTS (SELECT FROM ledger_keys AS l WHERE l.workflow_id = events.provider || ':' || events.key)
               OR EXISTS (SELECT FROM unnest($3::text[]) AS run WHERE strpos(key, run) > 0)))
INSERT INTO ledger_events
SELECT id, provider || ':' || key, status, sha256(raw_body), received_at, processed_at,
       CASE WHEN receipt->>'dedupe_window' ~ '^[0-9.hms]+$' THEN (receipt->>'dedupe_window')::interval END
  FROM found JOIN events USING (id)
 WHERE receipt->>'replaces' IS NULL`

	findLedgerDead = `
WITH found AS (
       SELECT d.id FROM ledger_keys AS l JOIN dead_letters AS d USING (workflow_id)
        UNION
       SELECT d.id FROM ledger_events AS e JOIN dead_letters AS d ON d.event_id = e.id
        UNION
       SELECT id FROM dead_letters
        WHERE event_id >= $1::uuid AND event_id < $2::uuid
          AND EXISTS (SELECT FROM unnest($3::text[]) AS run WHERE strpos(key, run) > 0))
INSERT INTO ledger_dead
SELECT event_id, provider || ':' || key, state, sha256(raw_body) FROM found JOIN dead_letters USING (id)
 WHERE receipt->>'replaces' IS NULL AND subscription_id = 0`

	findLedgerInbox = `
INSERT INTO ledger_inbox
SELECT i.workflow_id, sha256(i.raw_body) FROM inbox AS i
 WHERE i.workflow_id IN (SELECT workflow_id FROM ledger_keys)
    OR EXISTS (SELECT FROM unnest($1::text[]) AS run WHERE strpos(i.workflow_id, run) > 0)`

	indexLedgerStored = `
CREATE INDEX ON ledger_events (workflow_id);
CREATE INDEX ON ledger_dead (workflow_id);
CREATE INDEX ON ledger_inbox (workflow_id);
CREATE INDEX ON feed_items (id);
ANALYZE ledger_events, ledger_dead, ledger_inbox, feed_items`
)

// Report checks what is stored now against what was sent. Run it without load: acknowledged events that only Temporal has yet
// count as lost.
func (c *Check) Report(ctx context.Context) (r ledger.Report, err error) {
	err = pgx.BeginTxFunc(ctx, c.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		r, err = c.report(ctx, tx)
		return err
	})
	return r, postgres.Failure("check ledger", err)
}

func (c *Check) report(ctx context.Context, tx pgx.Tx) (r ledger.Report, err error) {
	if err := c.find(ctx, tx); err != nil {
		return r, err
	}
	if r.Findings, err = findings(ctx, tx); err != nil {
		return r, err
	}
	if err := countLedger(ctx, tx, &r); err != nil {
		return r, err
	}
	r.Timing, err = ledgerTiming(ctx, tx)
	return r, err
}

func (c *Check) find(ctx context.Context, tx pgx.Tx) error {
	from, to := event.FirstIDAt(c.from.Add(-clockSkew)), event.FirstIDAt(c.to.Add(clockSkew))
	if _, err := tx.Exec(ctx, makeLedgerStored, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, findLedgerEvents, from, to, c.runs); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, findLedgerDead, from, to, c.runs); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, findLedgerInbox, c.runs); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, indexLedgerStored, pgx.QueryExecModeSimpleProtocol)
	return err
}

// findings checks each invariant, in the order in which they are declared.
func findings(ctx context.Context, tx pgx.Tx) ([]ledger.Finding, error) {
	var all []ledger.Finding
	for _, i := range ledgerInvariants {
		f := ledger.Finding{Invariant: i.name}
		if err := tx.QueryRow(ctx, strings.Replace(countBroken, "QUERY", i.query, 1), maxExamples).
			Scan(&f.Count, &f.Examples); err != nil {
			return nil, err
		}
		all = append(all, f)
		if i.name == ledger.Bytes {
			folds, err := checkFolds(ctx, tx)
			if err != nil {
				return nil, err
			}
			all = append(all, folds...)
		}
	}
	return all, nil
}

const countLedgerKeys = `
SELECT count(*), count(*) FILTER (WHERE acknowledged), count(*) FILTER (WHERE refused),
       count(*) FILTER (WHERE NOT acknowledged AND NOT refused), count(*) FILTER (WHERE processed),
       count(*) FILTER (WHERE dead AND processed IS NOT TRUE),
       count(*) FILTER (WHERE (processed IS NOT NULL OR waits) AND dead IS NOT TRUE AND processed IS NOT TRUE)
  FROM ledger_keys
  LEFT JOIN (SELECT workflow_id, bool_or(status = 'processed') AS processed FROM ledger_events GROUP BY 1) AS e
            USING (workflow_id)
  LEFT JOIN (SELECT workflow_id, bool_or(state <> 'resolved') AS dead FROM ledger_dead GROUP BY 1) AS d USING (workflow_id)
  LEFT JOIN (SELECT DISTINCT workflow_id, true AS waits FROM ledger_inbox) AS i USING (workflow_id)`

func countLedger(ctx context.Context, tx pgx.Tx, r *ledger.Report) error {
	return tx.QueryRow(ctx, countLedgerKeys).Scan(
		&r.Sent, &r.Acknowledged, &r.Refused, &r.Unknown, &r.Processed, &r.Dead, &r.Waiting)
}

// timeLedger lists each event once, with the first times at which it was acknowledged and processed.
const timeLedger = `
SELECT count(*), coalesce(min(l.sent_at), now()), coalesce(max(e.processed_at), now()),
       percentile_disc(ARRAY[0.5, 0.9, 0.99, 1]) WITHIN GROUP (ORDER BY e.processed_at - l.acknowledged_at),
       percentile_disc(ARRAY[0.5, 0.9, 0.99, 1]) WITHIN GROUP (ORDER BY e.processed_at - e.received_at)
  FROM ledger_keys AS l
  JOIN (SELECT DISTINCT ON (workflow_id) * FROM ledger_events WHERE processed_at IS NOT NULL
         ORDER BY workflow_id, processed_at) AS e USING (workflow_id)
 WHERE l.acknowledged`

func ledgerTiming(ctx context.Context, tx pgx.Tx) (t ledger.Timing, err error) {
	var (
		n                    int
		fromAck, fromReceipt []time.Duration
	)
	row := tx.QueryRow(ctx, timeLedger)
	if err := row.Scan(&n, &t.FirstSent, &t.LastProcessed, &fromAck, &fromReceipt); err != nil || n == 0 {
		return ledger.Timing{}, err
	}
	t.FirstSent, t.LastProcessed = t.FirstSent.UTC(), t.LastProcessed.UTC()
	if took := t.LastProcessed.Sub(t.FirstSent); took > 0 {
		t.PerSecond = float64(n) / took.Seconds()
	}
	t.FromAck, t.FromReceipt = quantiles(fromAck), quantiles(fromReceipt)
	return t, nil
}

func quantiles(d []time.Duration) ledger.Quantiles {
	return ledger.Quantiles{P50: d[0], P90: d[1], P99: d[2], Max: d[3]}
}
