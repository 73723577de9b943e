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
	"keysOfEvent":    "once, for an event that is expunged and whose other rows were purged",
	"expungeWaiting": "the inbox is small, or about to be",
	"whereWaiting":   "the inbox is small, or about to be",
	"waitingOfEvent": "the inbox is small, or about to be",
	"lockWaiting":    "the inbox is small, or about to be",
	"idsOfRequest":   "the inbox is small, or about to be; the other two tables go by an index",
}

// Every statement of the package that has an argument finds its rows by an index, whatever the argument is: all constant texts that
// PostgreSQL can plan are planned, on tables that are large. So nobody has to think of a new one. Parts that are put together at run
// time are planned above; those of the check of a ledger read everything, which is what it is for.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := open(t)
	fill(db)
	fillRest(db)
	db.exec(`SET plan_cache_mode = force_generic_plan`)
	db.exec(`SET enable_seqscan = off`) // it is left where there is no other way
	statements := statementsOfThePackage(t)
	planned := 0
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		plan, ok := db.genericPlan(t, statements[name])
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
var wholeTable = regexp.MustCompile(`Seq Scan on (events|event_entities|entities|entity_checkpoints|entity_names|dead_letters|idempotency_keys|error_log|audit_log|inbox)\b`)

// genericPlan is the plan of a statement for any arguments; false if it has none, or is only a part of a statement.
func (d *database) genericPlan(t *testing.T, sql string) (plan string, ok bool) {
	prepared, err := d.sql.Prepare(t.Context(), "planned", sql)
	if err != nil {
		return "", false
	}
	defer func() { require.NoError(t, d.sql.Deallocate(t.Context(), "planned")) }()
	if len(prepared.ParamOIDs) == 0 {
		return "", false
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(prepared.ParamOIDs)), ", ")
	rows, err := d.sql.Query(t.Context(), "EXPLAIN EXECUTE planned("+nulls+")", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err, sql)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, sql)
	return strings.Join(lines, "\n"), true
}

var isSQL = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)

// statementsOfThePackage are the constant texts of the package that begin as statements do, by name or by place. Those of the
// packages that it imports are not looked at, so that no type of theirs need be known.
func statementsOfThePackage(t *testing.T) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var sources []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "ledger_") {
			continue
		}
		source, err := parser.ParseFile(files, name, nil, 0)
		require.NoError(t, err)
		sources = append(sources, source)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.Default(), Error: func(error) {}}
	_, _ = config.Check("persistence", files, sources, info) // constants have their values, whatever else is unknown
	found, parts := map[string]string{}, map[string]bool{}
	for name, object := range info.Defs {
		if c, ok := object.(*types.Const); ok && c.Val().Kind() == constant.String {
			if text := constant.StringVal(c.Val()); isSQL.MatchString(text) {
				found[name.Name] = text
				parts[text] = true
			}
		}
	}
	for expr, value := range info.Types {
		if value.Value == nil || value.Value.Kind() != constant.String {
			continue
		}
		if text := constant.StringVal(value.Value); isSQL.MatchString(text) && !parts[text] {
			found[fmt.Sprint(files.Position(expr.Pos()))] = text
		}
	}
	return found
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
	db.exec(`ANALYZE`)
}

// fillLinks makes many entities beside the one of fill.
func fillLinks(db *database) {
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', 'e' || i, 1, CASE i % 2 WHEN 0 THEN 'snapshot' ELSE 'patch' END, '{}', now()
  FROM generate_series(1, 20000) AS i`)
}
