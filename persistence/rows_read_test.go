package persistence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/feed"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
	"holdfast/persistence/postgres"
)

// A step works on up to 100 events, a purge on 500 and the changes of an entity, and the tables have 20,000 rows. A sweep may read
// a table once.
const mostRows, mostRowsOfPurge, mostRowsOfSweep = 1000, 5000, 22_000

// Whatever PostgreSQL knows about the queues, the statements of each event read few rows of large tables: all that are sent are
// planned in each state of statistics, on the filled tables, and run with their arguments. So statements assembled at run time
// are covered, too. Without our settings, PostgreSQL decides after five runs whether it keeps one plan; that is the plan here.
func TestStepsReadFewRowsWithAnyStatistics(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := openFilled(t, func(c *persistence.Config) { c.Tracer = seen })
	fillRest(db)
	fillDeliveries(db)
	sent := db.runSteps(t, seen)
	fillLinks(db) // a purge has removed some, and is run again
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `SET LOCAL holdfast.purge_audit_log = on`)
	require.NoError(t, err)
	everyStateOfStatistics(t, tx, func(state stateOfStatistics) {
		planned := planAll(t, tx, sent)
		_, err := tx.Exec(t.Context(), state.fill)
		require.NoError(t, err)
		ran := 0
		for name, s := range planned {
			plan, ok := runPlanned(t, tx, name, s)
			if !ok {
				continue
			}
			ran++
			if rows := plan.mostRows(); rows > s.most {
				t.Errorf("statistics %s: %s\n%s reads %d rows\n%s", state.name, s.name, s.sql, rows, plan)
			}
		}
		require.Greater(t, ran, 60)
		require.NoError(t, tx.Conn().DeallocateAll(t.Context()))
	})
}

// stepStatement is a statement that a step has sent.
type stepStatement struct {
	statement
	step
}

var touchesTable = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b[\s\S]*\b(FROM|INTO|UPDATE)\b`)

// runSteps runs each step once, and returns the statements that they sent, each text once.
func (d *database) runSteps(t *testing.T, seen *statements) (sent []stepStatement) {
	t.Helper()
	known := map[string]bool{}
	for _, s := range d.steps() {
		seen.forget()
		require.NoError(t, s.run(), s.name)
		for _, one := range seen.sent {
			text := fmt.Sprint(one.isSettings, one.sql)
			if touchesTable.MatchString(one.sql) && !known[text] {
				known[text] = true
				sent = append(sent, stepStatement{one, s})
				if !one.isSettings { // as with Config.PlansAtConnect
					one.isSettings = true
					sent = append(sent, stepStatement{one, s})
				}
			}
		}
	}
	return sent
}

type step struct {
	name string
	most int // rows that a statement may read of a table
	run  func() error
}

func (d *database) steps() []step {
	ctx := d.t.Context()
	// The changes are of transactions that this server has had, the deliveries have expired, and the first events have none.
	d.exec(`UPDATE changes SET xid = (xid::text::bigint % 700 + 1)::text::xid8`)
	d.exec(`UPDATE delivery_queue SET queued_at = '2020-01-01'`)
	for _, queue := range []string{"delivery_queue", "delivery_fanouts", "delivery_unmatched"} {
		d.exec(`DELETE FROM ` + queue + ` WHERE event_id < lpad(to_hex(2000), 32, '0')::uuid`)
	}
	const endpoint = 1_000_000
	d.destination(endpoint, delivery.Destination{InFlight: 1000})
	d.queue(endpoint, 200)
	inbox, r := d.Inbox.NewInboxWriter(), receipt()
	change := parsed(snapshot("e7", `{"a":1}`), patch("new", `{"a":1}`))
	guess := guessed("7", time.Hour)
	letter := died(receipt(), noon)
	purge := func(kind retention.Kind) step {
		most := mostRowsOfSweep
		if kind == retention.Events {
			most = mostRowsOfPurge
		}
		return step{"purge of " + string(kind), most, func() error {
			return second(d.Upkeep.PurgeBatch(ctx, kind, time.Now().Add(time.Hour)))
		}}
	}
	settle := func(kind delivery.Kind, code string) func() error {
		return func() error { return second(d.Outbox.Settle(ctx, each(d.lease(20, 20), kind, code))) }
	}
	return []step{
		{"spool", mostRows, func() error { return second(inbox.Spool(ctx, event.LaneOverflow, r, body, false)) }},
		{"copy", mostRows, func() error { return inbox.Copy(ctx, receipt(), body, time.Hour) }},
		{"remove from the inbox", mostRows, func() error {
			return second(d.Inbox.RemoveFromInbox(ctx, []string{r.WorkflowID()}, []string{r.ID}))
		}},
		{"drain", mostRows, func() error {
			return second(d.Inbox.DrainInbox(ctx, event.LaneOverflow, 20, all(event.StartOutcome{Started: true}, &[]event.Waiting{})))
		}},
		{"batch", mostRows, func() error { d.batch(runOf(r), nil); return nil }},
		{"persist and fold", mostRows, func() error { d.process(r, change); return nil }},
		{"persist a duplicate", mostRows, func() error { return second(d.Writer.Write(ctx, event.RowOnly, r, body, change, anotherRun(r))) }},
		{"persist a copied event", mostRows, func() error { d.process(d.copied(time.Hour), change); return nil }},
		{"persist an event with a guessed key", mostRows, func() error {
			return second(d.Writer.Write(ctx, event.RowOnly, guess, body, repeats(false, 5), runOf(guess)))
		}},
		{"record a dead letter", mostRows, func() error { d.record(letter); return nil }},
		{"process a dead letter", mostRows, func() error { d.process(letter.Receipt, change); return nil }},
		{"fan-out", mostRows, func() error { return second(d.Subscriptions.FanOut(ctx)) }},
		{"finish matching", mostRows, func() error { return second(d.Subscriptions.FinishMatching(ctx)) }},
		{"lease", mostRows, func() error { return second2(d.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: 20})) }},
		{"settle successes", mostRows, settle(delivery.OK, "200")},
		{"settle failures", mostRows, settle(delivery.Bad, "503")},
		{"settle final failures", mostRows, settle(delivery.Final, "404")},
		{"expire deliveries", mostRowsOfSweep, func() error { return second(d.Outbox.ExpireDeliveries(ctx)) }},
		{"cancel deliveries", mostRowsOfSweep, func() error { return second(d.Outbox.CancelDeleted(ctx)) }},
		{"change feed", mostRows, func() error { return second(d.Changes.Changes(ctx, feed.Cursor{}, 100)) }},
		{"change feed from a time on", mostRowsOfSweep, func() error { return second(d.Changes.Since(ctx, time.Now().Add(-time.Hour))) }},
		{"plan replays", mostRowsOfSweep, func() error { return third(d.DeadLetters.PlanAutomaticReplay(ctx, persistencetest.Automatic)) }},
		{"claim replays", mostRowsOfSweep, func() error { return second(d.DeadLetters.ClaimDue(ctx, "owner", persistencetest.Automatic, 20, 1000)) }},
		{"replay", mostRowsOfSweep, func() error {
			d.shared().CreateReplay("one", operation.ReplayFilter{Provider: "p7"})
			return second(d.Replays.ClaimPage(ctx, "one", 20, 1000))
		}},
		{"start replays", mostRowsOfSweep, func() error { return d.DeadLetters.MarkStarted(ctx, "one", map[int64]string{100: "run"}) }},
		{"settle a replay", mostRowsOfSweep, func() error { return third(d.Replays.Settle(ctx, "one")) }},
		{"stale replays", mostRowsOfSweep, func() error { return second(d.DeadLetters.StaleReplays(ctx, 0, 20)) }},
		{"compare runs", mostRowsOfSweep, func() error {
			return second(d.DeadLetters.Unrecorded(ctx, []operation.ClosedRun{{Run: anotherRun(r), EventID: r.ID, Status: "terminated"}}))
		}},
		{"alerts", mostRowsOfSweep, func() error { return third(d.Errors.ClaimAlerts(ctx)) }},
		purge(retention.Events), purge(retention.DeadLetters), purge(retention.Errors), purge(retention.Keys), purge(retention.Audit),
	}
}

// planAll prepares the statements and makes their plans, which are kept from then on. It returns them by their prepared name.
func planAll(t *testing.T, tx pgx.Tx, sent []stepStatement) map[string]stepStatement {
	t.Helper()
	planned := map[string]stepStatement{}
	for i, s := range sent {
		settings := `SELECT ` + postgres.SettingsOfPlans
		if !s.isSettings {
			settings = strings.NewReplacer("'enable_seqscan', 'off'", "'enable_seqscan', 'on'",
				"'enable_hashjoin', 'off'", "'enable_hashjoin', 'on'",
				"'enable_mergejoin', 'off'", "'enable_mergejoin', 'on'").Replace(settings)
		}
		order := postgres.InAnyOrder
		if s.inOrder {
			order = postgres.InOrder
		}
		_, err := tx.Exec(t.Context(), settings+"; "+order)
		require.NoError(t, err)
		name := fmt.Sprintf("step_%d", i)
		_, err = tx.Prepare(t.Context(), name, s.sql)
		require.NoError(t, err, s.sql)
		planned[name] = s
		_, err = tx.Exec(t.Context(), "EXPLAIN "+execute(name, s), append([]any{pgx.QueryExecModeSimpleProtocol}, s.args...)...)
		require.NoError(t, err, s.sql)
	}
	return planned
}

func execute(name string, s stepStatement) string {
	values := make([]string, len(s.args))
	for n := range values {
		values[n] = fmt.Sprintf("$%d", n+1)
	}
	if len(values) == 0 {
		return "EXECUTE " + name
	}
	return "EXECUTE " + name + "(" + strings.Join(values, ", ") + ")"
}

// runPlanned runs a planned statement, undoes what it did, and returns its plan with the rows that it has read; false if the
// statement can't run twice because it inserts the same row.
func runPlanned(t *testing.T, tx pgx.Tx, name string, s stepStatement) (plan ranNode, ok bool) {
	t.Helper()
	_, err := tx.Exec(t.Context(), "SAVEPOINT step")
	require.NoError(t, err)
	var text string
	args := append([]any{pgx.QueryExecModeSimpleProtocol}, s.args...)
	err = tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, FORMAT JSON) "+execute(name, s), args...).Scan(&text)
	var refused *pgconn.PgError
	if ok = !errors.As(err, &refused) || refused.Code != "23505"; ok {
		require.NoError(t, err, s.sql)
		var plans []struct{ Plan ranNode }
		require.NoError(t, json.Unmarshal([]byte(text), &plans))
		plan = plans[0].Plan
	}
	_, err = tx.Exec(t.Context(), "ROLLBACK TO step")
	require.NoError(t, err)
	return plan, ok
}

// perDestination matches the tables that some steps read completely, since they are for all destinations.
var perDestination = regexp.MustCompile(`^(destinations|destination_states|subscriptions)$`)

// ranNode is a node of a plan that has run. Its numbers are per loop.
type ranNode struct {
	Kind      string    `json:"Node Type"`
	Table     string    `json:"Relation Name,omitempty"`
	Index     string    `json:"Index Name,omitempty"`
	Condition string    `json:"Index Cond,omitempty"`
	Rows      float64   `json:"Actual Rows"`
	Loops     float64   `json:"Actual Loops"`
	Filtered  float64   `json:"Rows Removed by Filter,omitempty"`
	Rechecked float64   `json:"Rows Removed by Index Recheck,omitempty"`
	Unjoined  float64   `json:"Rows Removed by Join Filter,omitempty"`
	Plans     []ranNode `json:"Plans,omitempty"`
}

func (n ranNode) String() string {
	text, _ := json.MarshalIndent(n, "", "  ")
	return string(text)
}

// mostRows returns how many rows of a table, or of what was kept of it, the largest scan or join reads.
func (n ranNode) mostRows() (most int) {
	isLarge := ourTables.MatchString(n.Table) && !perDestination.MatchString(n.Table)
	if strings.HasSuffix(n.Kind, "Scan") && isLarge || n.Kind == "Materialize" || n.Kind == "CTE Scan" || n.Unjoined > 0 {
		most = int((n.Rows + n.Filtered + n.Rechecked + n.Unjoined) * n.Loops)
	}
	for _, below := range n.Plans {
		most = max(most, below.mostRows())
	}
	return most
}
