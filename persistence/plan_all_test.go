package persistence_test

import (
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
)

// readsAll are the statements that read a table as a whole, and why they may.
var readsAll = map[string]string{
	"upkeep.keysOfEvent":    "once, for an event that is expunged and whose other rows were purged",
	"upkeep.expungeWaiting": "the inbox is small, or about to be",
	"upkeep.whereWaiting":   "the inbox is small, or about to be",
	"inbox.waitingOfEvent":  "the inbox is small, or about to be",
	"upkeep.lockWaiting":    "the inbox is small, or about to be",
	"read.idsOfRequest":     "the inbox is small, or about to be; the other two tables go by an index",
}

// askedAllTheTime are statements without an argument that find their rows by an index as well.
var askedAllTheTime = []string{"outbox.longestDue", "outbox.countFanOuts", "outbox.rearm", "subscriptions.readHead"}

// Every statement of the rooms that has an argument finds its rows by an index, whatever the argument is: all constant texts that
// PostgreSQL can plan are planned, on tables that are large. So nobody has to think of a new one. Parts that are put together at run
// time are planned above; those of the check of a ledger read everything, which is what it is for.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t)
	fill(db)
	fillRest(db)
	fillDeliveries(db)
	db.exec(`SET plan_cache_mode = force_generic_plan`)
	db.exec(`SET enable_seqscan = off`) // it is left where there is no other way
	statements := statementsOfTheRooms(t)
	require.Subset(t, slices.Collect(maps.Keys(statements)), askedAllTheTime)
	planned := 0
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		plan, ok := db.genericPlan(t, statements[name], slices.Contains(askedAllTheTime, name))
		if !ok {
			continue
		}
		planned++
		if whole := wholeTable.MatchString(plan); whole != (readsAll[name] != "") {
			t.Errorf("%s reads a table as a whole: %t\n%s\n%s", name, whole, statements[name], plan)
		}
	}
	require.Greater(t, planned, 90)
}

// wholeTable is a scan of one of our tables that no index serves.
var wholeTable = regexp.MustCompile(`Seq Scan on (events|event_entities|entities|entity_checkpoints|entity_bases|entity_names|dead_letters|event_contents|idempotency_keys|error_log|audit_log|inbox|destinations|subscriptions|destination_states|resends|sessions|event_duplicates|deliver\w+|changes\w*)\b`)

// genericPlan is the plan of a statement for any arguments; false if it has none and that matters, or is only a part of a
// statement.
func (d *database) genericPlan(t *testing.T, sql string, evenWithout bool) (plan string, ok bool) {
	prepared, err := d.sql.Prepare(t.Context(), "planned", sql)
	if err != nil {
		return "", false
	}
	defer func() { require.NoError(t, d.sql.Deallocate(t.Context(), "planned")) }()
	if len(prepared.ParamOIDs) == 0 && !evenWithout {
		return "", false
	}
	arguments := ""
	if n := len(prepared.ParamOIDs); n > 0 {
		arguments = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	rows, err := d.sql.Query(t.Context(), "EXPLAIN EXECUTE planned"+arguments, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err, sql)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, sql)
	return strings.Join(lines, "\n"), true
}

var isSQL = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// statementsOfTheRooms are the constant texts of all rooms that begin as statements do, by room and name, or by place. Packages of
// others that they import are not looked at, so that no type of theirs need be known.
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

// rooms reads the rooms of the package, each after those that it imports, whose constants its own are made of.
type rooms struct {
	t     *testing.T
	files *token.FileSet
	known map[string]*types.Package
	found map[string]string
	parts map[string]bool // texts that have a name
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
		r.known[path], _ = config.Check(path, r.files, r.sources(room), info) // constants have their values, whatever else is unknown
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
	for expr, value := range info.Types {
		if value.Value == nil || value.Value.Kind() != constant.String {
			continue
		}
		if text := constant.StringVal(value.Value); isSQL.MatchString(text) && !r.parts[text] {
			r.found[fmt.Sprint(r.files.Position(expr.Pos()))] = text
		}
	}
}

// fillRest makes the tables large that fill leaves small.
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
	db.exec(`
INSERT INTO event_duplicates (event_id, times, first_seen, last_seen)
SELECT lpad(to_hex(i), 32, '0')::uuid, 1, now(), now() FROM generate_series(1, 20000) AS i`)
	db.exec(`ANALYZE`)
}

// fillLinks makes many entities beside the one of fill.
func fillLinks(db *database) {
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', 'e' || i, 1, CASE i % 2 WHEN 0 THEN 'snapshot' ELSE 'patch' END, '{}', now()
  FROM generate_series(1, 20000) AS i`)
}

// fillDeliveries makes the tables large of what goes out.
func fillDeliveries(db *database) {
	db.exec(`INSERT INTO destinations (name, settings, version) SELECT 'd' || i, '{}', i FROM generate_series(1, 5000) AS i`)
	db.exec(`
INSERT INTO destination_states (destination_id, next_at, trouble_since)
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
INSERT INTO delivery_attempts (event_id, subscription_id, lease, at, generation, ok, code, error, ms)
SELECT event_id, subscription_id, gen_random_uuid(), now(), 0, true, '', '', 1 FROM delivery_queue`)
	db.exec(`INSERT INTO delivery_fanouts (event_id, subscription_ids) SELECT event_id, '{1,2}' FROM delivery_queue LIMIT 5000`)
	db.exec(`
INSERT INTO resends (id, subscription_id, everything, rate, state, started_by, ended_at)
SELECT i::text, i, false, 1, 'completed', 'ada', now() FROM generate_series(1, 5000) AS i`)
	db.exec(`ANALYZE`)
}
