package persistence_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/persistence/postgres"
)

type statements struct {
	mu   sync.Mutex
	sent []statement
	// open tells for each connection whether its transaction has postgres.SettingsOfPlans, and inOrder whether postgres.InOrder.
	open, inOrder map[*pgx.Conn]bool
}

// statement is a statement that was sent, with its arguments, and whether postgres.SettingsOfPlans and postgres.InOrder were in
// force.
type statement struct {
	sql                 string
	args                []any
	isSettings, inOrder bool
}

func (s *statements) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = nil
}

func (s *statements) keep(c *pgx.Conn, sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = s.open[c] && sql != "begin" || strings.Contains(sql, "force_generic_plan")
	s.inOrder[c] = s.open[c] && (s.inOrder[c] && sql != postgres.InAnyOrder || sql == postgres.InOrder)
	s.sent = append(s.sent, statement{sql, args, s.open[c], s.inOrder[c]})
	s.open[c] = s.open[c] && sql != "commit"
}

// begin clears the settings of a connection that is in no transaction.
func (s *statements) begin(c *pgx.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open, s.inOrder = map[*pgx.Conn]bool{}, map[*pgx.Conn]bool{}
	}
	if c.PgConn().TxStatus() == 'I' {
		s.open[c] = false
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, c *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.begin(c)
	s.keep(c, q.SQL, q.Args)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.begin(c)
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, c *pgx.Conn, q pgx.TraceBatchQueryData) {
	s.keep(c, q.SQL, q.Args)
}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (s *statements) plan(t *testing.T, db *database) string {
	t.Helper()
	return s.planOf(t, db, "EXPLAIN (COSTS OFF) ", func(sql string) bool { return !strings.Contains(sql, "entity_names") })
}

// planOf returns the plan of a statement as the store has sent it: with its text, its arguments and the settings of its
// transaction.
func (s *statements) planOf(t *testing.T, db *database, explain string, wanted func(sql string) bool) string {
	t.Helper()
	at := slices.IndexFunc(s.sent, func(sent statement) bool { return wanted(sent.sql) })
	require.GreaterOrEqual(t, at, 0, "the statement was not sent")
	sent := s.sent[at]
	require.Empty(t, sortedByText(sent.sql), sent.sql)
	tx, err := db.sql.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	if !sent.isSettings {
		return collectPlan(t, tx, explain+sent.sql, sent.args...)
	}
	_, err = tx.Exec(t.Context(), `SELECT `+postgres.SettingsOfPlans)
	require.NoError(t, err)
	if sent.inOrder {
		_, err = tx.Exec(t.Context(), postgres.InOrder)
		require.NoError(t, err)
	}
	prepared, err := tx.Prepare(t.Context(), "planned", sent.sql)
	require.NoError(t, err, sent.sql)
	defer func() { require.NoError(t, db.sql.Deallocate(t.Context(), "planned")) }()
	var values []string
	for n := range prepared.ParamOIDs {
		values = append(values, fmt.Sprintf("$%d", n+1))
	}
	execute := "EXECUTE planned"
	if len(values) > 0 {
		execute += "(" + strings.Join(values, ", ") + ")"
	}
	return collectPlan(t, tx, explain+execute, append([]any{pgx.QueryExecModeSimpleProtocol}, sent.args...)...)
}

func collectPlan(t *testing.T, tx pgx.Tx, sql string, args ...any) string {
	t.Helper()
	rows, err := tx.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err, sql)
	return strings.Join(lines, "\n")
}

var (
	innermost  = regexp.MustCompile(`\([^()]*\)`)
	castColumn = regexp.MustCompile(`(\w+)::\w+( AS (\w+))?`)
	bareName   = regexp.MustCompile(`(?:^|[^.\w])([a-z_]+)\b`)
)

// sortedByText returns the columns that a statement sorts by their text instead of the column: a bare name in ORDER BY is that of
// the output, and id::text is output as "id". No index has such an order, and a collation may order differently than the next
// page.
func sortedByText(sql string) (names []string) {
	for {
		at := innermost.FindStringIndex(sql)
		if at == nil {
			return append(names, sortedCasts(sql)...)
		}
		names = append(names, sortedCasts(sql[at[0]+1:at[1]-1])...)
		sql = sql[:at[0]] + "#" + sql[at[1]:]
	}
}

// sortedCasts is sortedByText for a text without parentheses.
func sortedCasts(sql string) (names []string) {
	_, sql, isSelect := strings.Cut(sql, "SELECT")
	output, rest, _ := strings.Cut(sql, "FROM")
	_, order, isOrdered := strings.Cut(rest, "ORDER BY")
	if !isSelect || !isOrdered {
		return nil
	}
	for _, cast := range castColumn.FindAllStringSubmatch(output, -1) {
		if cast[2] != "" && cast[3] != cast[1] {
			continue
		}
		for _, sorted := range bareName.FindAllStringSubmatch(order, -1) {
			if sorted[1] == cast[1] {
				names = append(names, cast[1])
			}
		}
	}
	return names
}
