package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/persistence/postgres"
)

// readsAll lists the statements that may read a whole table, and why.
var readsAll = map[string]string{
	"upkeep.keysOfEvent":       "once, for an event that is expunged and whose other rows were purged",
	"upkeep.expungeWaiting":    "the inbox is small, or about to be",
	"upkeep.whereWaiting":      "the inbox is small, or about to be",
	"deadletters.selectGone":   "the inbox is small, or about to be; the other tables go by an index",
	"inbox.waitingOfEvent":     "the inbox is small, or about to be",
	"upkeep.lockWaiting":       "the inbox is small, or about to be",
	"deadletters.insertReplay": "it counts what its filter selects, and without one that is everything",
	"outbox.countFanOuts":      "the queue of fan-outs is short, and its index says how long",
	"read.idsOfRequest":        "the inbox is small, or about to be; the other two tables go by an index",
	"read.idsOfChosenRequest":  "the inbox is small, or about to be; the other two tables go by an index",
	"read.waitingOfRequest":    "the inbox is small, or about to be",
}

// readsEmptied lists the statements that may read a whole index of a work queue if PostgreSQL assumes an empty queue, and why.
var readsEmptied = map[string]string{
	"outbox.countOpenOf":  "once, when a subscription is about to be deleted",
	"outbox.deliveriesOf": "for the page of an event",
	"outbox.expungeOpen":  "once, for an event that is expunged",
	"outbox.statusesOf":   "for a page of events",
	"read.versionOf":      "for the page of an event that isn't finished",
}

// askedAllTheTime lists statements without an argument that must use an index as well.
var askedAllTheTime = []string{
	"outbox.longestDue", "outbox.countFanOuts", "outbox.rearm", "outbox.adoptRestored",
	"subscriptions.readHead",
}

// sentInOrder lists the statements that are sent with postgres.InOrder.
var sentInOrder = []string{"upkeep.purgeEvents", "upkeep.outdatedEvents", "outbox.headsOf", "outbox.readBacklog"}

// Every statement of the packages that has an argument finds its rows by an index, whatever the argument is, and doesn't read a
// whole index: all constant texts that PostgreSQL can plan are planned, on large tables, with the settings of our transactions.
// So new statements are covered automatically. Statements assembled at run time are planned where they are sent; those of the
// check of a ledger deliberately read everything.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openFilled(t)
	fillRest(db)
	fillDeliveries(db)
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), `SELECT `+postgres.SettingsOfPlans)
	require.NoError(t, err)
	statements := statementsOfTheRooms(t)
	require.Subset(t, slices.Collect(maps.Keys(statements)), slices.Concat(askedAllTheTime, sentInOrder))
	everyStateOfStatistics(t, tx, func(state stateOfStatistics) {
		indexes := indexesOf(t, tx, state)
		planned := 0
		for _, name := range slices.Sorted(maps.Keys(statements)) {
			order := postgres.InAnyOrder
			if slices.Contains(sentInOrder, name) {
				order = postgres.InOrder
			}
			_, err := tx.Exec(t.Context(), order)
			require.NoError(t, err)
			plan, ok := genericPlan(t, tx, statements[name], slices.Contains(askedAllTheTime, name))
			if !ok {
				continue
			}
			planned++
			may := readsAll[name] != "" || state.isEmptied && readsEmptied[name] != ""
			if whole := plan.readsAll(indexes, false); whole && !may || !whole && readsAll[name] != "" {
				t.Errorf("statistics %s: %s reads a table as a whole: %t\n%s\n%s", state.name, name, whole, statements[name], plan)
			}
		}
		require.Greater(t, planned, 90)
	})
}

type planNode struct {
	Kind      string     `json:"Node Type"`
	Table     string     `json:"Relation Name,omitempty"`
	Index     string     `json:"Index Name,omitempty"`
	Condition string     `json:"Index Cond,omitempty"`
	Name      string     `json:"Subplan Name,omitempty"`
	Plans     []planNode `json:"Plans,omitempty"`
}

func (n planNode) String() string {
	text, _ := json.MarshalIndent(n, "", "  ")
	return string(text)
}

// index says whether an index has only some rows, and what a condition contains that selects a part of it.
type index struct {
	isPartial bool
	first     *regexp.Regexp
}

// indexesOf returns the indexes by name. A condition selects a part of an index if it is about the first column. If PostgreSQL
// assumes an empty table, all indexes that have a column look alike to it. This only matters for the work queues: PostgreSQL analyzes
// the others again within a minute after they fill.
func indexesOf(t *testing.T, tx pgx.Tx, state stateOfStatistics) map[string]index {
	t.Helper()
	rows, err := tx.Query(t.Context(), `
SELECT indexrelid::regclass::text, indpred IS NOT NULL,
       CASE WHEN NOT $1 OR indrelid::regclass::text = ANY ($2) THEN pg_get_indexdef(indexrelid, 1, true) ELSE '' END
  FROM pg_index`, state.isEmptied, workQueues)
	require.NoError(t, err)
	all := map[string]index{}
	var name, column string
	var isPartial bool
	_, err = pgx.ForEachRow(rows, []any{&name, &isPartial, &column}, func() error {
		first := `.`
		if column != "" {
			first = `(?i)(^|\W)` + regexp.QuoteMeta(column) + `(\W|$)`
		}
		all[name] = index{isPartial, regexp.MustCompile(first)}
		return nil
	})
	require.NoError(t, err)
	return all
}

// readsAll reports whether the plan reads a whole table of ours, or an index of all its rows, as it also does if the condition
// isn't about the first column. Below a limit it doesn't, unless a node between the two must read everything before it returns a
// row.
func (n planNode) readsAll(indexes map[string]index, isLimited bool) bool {
	switch n.Kind {
	case "Limit":
		isLimited = true
	case "Sort", "Aggregate", "Hash", "Materialize", "WindowAgg", "ModifyTable":
		isLimited = false
	case "Seq Scan":
		if ourTables.MatchString(n.Table) {
			return true
		}
	case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
		i := indexes[n.Index]
		isPart := i.isPartial || i.first != nil && i.first.MatchString(n.Condition)
		if !isPart && !isLimited && (n.Table == "" || ourTables.MatchString(n.Table)) {
			return true
		}
	}
	return slices.ContainsFunc(n.Plans, func(below planNode) bool {
		return below.readsAll(indexes, isLimited && below.Name == "")
	})
}

func TestNothingIsSortedByTheTextOfAnID(t *testing.T) {
	t.Parallel()
	for name, sql := range statementsOfTheRooms(t) {
		if names := sortedByText(sql); len(names) > 0 {
			t.Errorf("%s sorts %v by text:%s", name, names, sql)
		}
	}
}

// ourTables matches those that may be large.
var ourTables = regexp.MustCompile(`^(events|event_entities|event_minutes|event_contents|event_duplicates|redeliveries|entities|entity_checkpoints|entity_bases|entity_names|dead_letters|idempotency_keys|decisions|error_log|audit_log|inbox|import_rows|recovery_items|recovery_remainders|fetched_states|destinations|subscriptions|destination_states|resends|sessions|rebuild_entities|rebuild_keys|deliver\w+|changes\w*)$`)

// genericPlan returns the plan of a statement for any arguments; false if it has none and that matters, or is only a part of a
// statement.
func genericPlan(t *testing.T, tx pgx.Tx, sql string, evenWithout bool) (plan planNode, ok bool) {
	_, err := tx.Exec(t.Context(), "SAVEPOINT part")
	require.NoError(t, err)
	prepared, err := tx.Prepare(t.Context(), "planned", sql)
	if err != nil {
		_, err := tx.Exec(t.Context(), "ROLLBACK TO part")
		require.NoError(t, err)
		return plan, false
	}
	defer func() { require.NoError(t, tx.Conn().Deallocate(t.Context(), "planned")) }()
	if len(prepared.ParamOIDs) == 0 && !evenWithout {
		return plan, false
	}
	arguments := ""
	if n := len(prepared.ParamOIDs); n > 0 {
		arguments = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	var plans []struct{ Plan planNode }
	err = tx.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE planned"+arguments, pgx.QueryExecModeSimpleProtocol).Scan(&plans)
	require.NoError(t, err, sql)
	return plans[0].Plan, true
}

var isSQL = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// statementsOfTheRooms returns the constant texts of all packages that begin like statements, by package and name, or by
// position. Packages of other modules are not loaded, so their types stay unknown.
func statementsOfTheRooms(t *testing.T) map[string]string {
	t.Helper()
	r := &rooms{t: t, files: token.NewFileSet(), known: map[string]*types.Package{}, found: map[string]string{},
		parts: map[string]bool{}}
	names, err := filepath.Glob("*/doc.go")
	require.NoError(t, err)
	for _, name := range names {
		if room := filepath.Dir(name); room != "ledgers" {
			_, err := r.Import(pathOfRooms + room)
			require.NoError(t, err)
		}
	}
	return r.found
}

const pathOfRooms = "holdfast/persistence/"

// rooms loads the packages, each after those that it imports, whose constants its own may contain.
type rooms struct {
	t     *testing.T
	files *token.FileSet
	known map[string]*types.Package
	found map[string]string
	parts map[string]bool // texts of named constants
}

// Import implements types.Importer.
func (r *rooms) Import(path string) (*types.Package, error) {
	room, ok := strings.CutPrefix(path, pathOfRooms)
	if !ok {
		return importer.Default().Import(path)
	}
	if r.known[path] == nil {
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: r, Error: func(error) {}}
		r.known[path], _ = config.Check(path, r.files, r.sources(room), info) // constants have values even if types are unknown
		r.collect(room, info)
	}
	return r.known[path], nil
}

func (r *rooms) sources(room string) (sources []*ast.File) {
	names, err := filepath.Glob(room + "/*.go")
	require.NoError(r.t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			source, err := parser.ParseFile(r.files, name, nil, 0)
			require.NoError(r.t, err)
			sources = append(sources, source)
		}
	}
	return sources
}

func (r *rooms) collect(room string, info *types.Info) {
	for name, object := range info.Defs {
		if c, ok := object.(*types.Const); ok && c.Val().Kind() == constant.String {
			if text := constant.StringVal(c.Val()); isSQL.MatchString(text) {
				r.found[room+"."+name.Name] = text
				r.parts[text] = true
			}
		}
	}
	whole := map[string]string{} // by position, which is also where the left part of a sum begins
	for expr, value := range info.Types {
		if value.Value == nil || value.Value.Kind() != constant.String {
			continue
		}
		place := fmt.Sprint(r.files.Position(expr.Pos()))
		if text := constant.StringVal(value.Value); len(text) > len(whole[place]) {
			whole[place] = text
		}
	}
	for place, text := range whole {
		if isSQL.MatchString(text) && !r.parts[text] {
			r.found[place] = text
		}
	}
}

// fillRest fills the tables that fill leaves small.
func fillRest(db *database) {
	db.exec(`
INSERT INTO entities (provider, kind, external_id, occurred_at, last_event_id)
SELECT 'acme', 'thing', 'e' || i, now(), lpad(to_hex(i), 32, '0')::uuid FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO idempotency_keys (provider, key, event_id, first_seen, expires_at)
SELECT 'acme', 'k' || i, lpad(to_hex(i), 32, '0')::uuid, now(), now() + i * interval '1 min' FROM generate_series(1, 20000) AS i`)
	fillLinks(db)
	db.exec(`
INSERT INTO inbox (workflow_id, event_id, lane, provider, receipt, raw_body, reject, received_at)
SELECT 'acme:w' || i, lpad(to_hex(i), 32, '0')::uuid, CASE i % 2 WHEN 0 THEN 'overflow' ELSE 'bulk' END, 'acme', '', '', false, now()
  FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO entity_checkpoints (provider, kind, external_id, links, occurred_at, event_id, latest_at, state, deleted)
SELECT 'acme', 'thing', 'e' || i, 64, now(), lpad(to_hex(i), 32, '0')::uuid, now(), '{}', false
  FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO entity_bases (provider, kind, external_id, links, occurred_at, event_id, latest_at, state, deleted, collapsed, first_id, last_id)
SELECT provider, kind, external_id, links, occurred_at, event_id, latest_at, state, deleted, 64, event_id, event_id FROM entity_checkpoints`)
	db.exec(`
INSERT INTO changes (slot, xid, n, items, at)
SELECT i % 32, i::text::xid8, 1, '[{}]', now() - i * interval '1 s' FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO sessions (id, token, fingerprint, expires_at)
SELECT sha256(i::text::bytea), 't' || i % 100, '', now() + i * interval '1 s' FROM generate_series(1, 20000) AS i`)
	db.exec(`INSERT INTO decisions (event_id, decision, by, reason)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'discarded', 'ada', 'x' FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO event_contents (provider, content, received_at, event_id)
SELECT 'acme', i, now(), lpad(to_hex(i), 32, '0')::uuid FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO import_rows (import_id, seq, item, body) SELECT 'i' || i % 10, i, '{}', '' FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO recovery_items (recovery_id, workflow_id, at, event_id, lane, receipt, body)
SELECT 'r' || i % 10, 'acme:k' || i, now(), lpad(to_hex(i), 32, '0')::uuid, '', '', '' FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO fetched_states (event_id, at, state) SELECT lpad(to_hex(i), 32, '0')::uuid, now(), '{}' FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO event_duplicates (event_id, times, first_seen, last_seen)
SELECT lpad(to_hex(i), 32, '0')::uuid, 1, now(), now() FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO event_minutes (provider, starts_at, processed, ignored, dead)
SELECT 'p' || i % 20, now() - i * interval '5 min', 1, 0, 0 FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO delivery_minutes (destination_id, starts_at, succeeded, failed, ms)
SELECT i % 20, now() - i * interval '5 min', 1, 0, 5 FROM generate_series(1, 20000) AS i`)
	db.exec(`ANALYZE`)
}

// fillLinks inserts many entities in addition to the one of fill, each with an earlier change by an event that is purged.
func fillLinks(db *database) {
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', 'e' || i, 1, CASE i % 2 WHEN 0 THEN 'snapshot' ELSE 'patch' END, '{}', now()
  FROM generate_series(1, 20000) AS i ON CONFLICT DO NOTHING`)
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT ('01' || lpad(to_hex(i), 30, '0'))::uuid, 'acme', 'thing', 'e' || i, 1, 'snapshot', '{}', now() - interval '1 day'
  FROM generate_series(1, 20000) AS i ON CONFLICT DO NOTHING`)
}

func fillDeliveries(db *database) {
	db.exec(`INSERT INTO destinations (name, settings, version) SELECT 'd' || i, '{}', i FROM generate_series(1, 5000) AS i`)
	db.exec(`
INSERT INTO destination_states (destination_id, next_at, failing_since)
SELECT id, now() + id * interval '1 s', CASE WHEN id % 100 = 0 THEN now() END FROM destinations`)
	db.exec(`
INSERT INTO subscriptions (name, destination_id, settings, active, version, deleted_at)
SELECT 's' || id, id, '{}', true, version, CASE WHEN id % 100 = 0 THEN now() END FROM destinations`)
	db.exec(`
INSERT INTO delivery_queue (event_id, subscription_id, destination_id, due_at, lease)
SELECT lpad(to_hex(i), 32, '0')::uuid, 1 + i % 5000, 1 + i % 5000, now() + i * interval '1 s', CASE WHEN i % 50 = 0 THEN gen_random_uuid() END
  FROM generate_series(1, 20000) AS i`)
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT event_id, subscription_id, destination_id, CASE WHEN subscription_id % 100 = 0 THEN 'failed' ELSE 'delivered' END, '', 1, 0, 1, now()
  FROM delivery_queue`)
	db.exec(`
INSERT INTO deliveries (event_id, subscription_id, destination_id, status, code, attempts, generation, ms, queued_at)
SELECT ('ff' || substr(event_id::text, 3))::uuid, subscription_id, destination_id, status, code, 1, 0, 1, now() FROM deliveries`)
	db.exec(`
INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms)
SELECT event_id, subscription_id, gen_random_uuid(), now(), 0, true, '', '', 1 FROM deliveries`)
	db.exec(`INSERT INTO delivery_fanouts (event_id, subscription_ids) SELECT event_id, '{1,2}' FROM delivery_queue LIMIT 5000`)
	db.exec(`
INSERT INTO delivery_unmatched (event_id, subscriptions) SELECT event_id, '{[1,3)}' FROM delivery_queue LIMIT 5000`)
	db.exec(`
INSERT INTO resends (id, subscription_id, everything, rate, state, started_by, ended_at)
SELECT i::text, i, false, 1, 'completed', 'ada', now() FROM generate_series(1, 5000) AS i`)
	db.exec(`ANALYZE`)
}
