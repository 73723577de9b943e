package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
)

// drop-unused-indexes.sql keeps the indexes of the columns that Temporal has chosen for the search attributes:
//   - they are those that `temporal operator namespace describe` prints
//   - without them, or with a column that doesn't exist, it drops nothing
//   - those for schedules leave out ordinary workflows, and still find schedules
//   - it may run again, and says how to restore an index that an earlier version has dropped
func TestUsedVisibilityIndexesAreKept(t *testing.T) {
	t.Parallel()
	bin := filepath.Join("..", "bin")
	if _, err := os.Stat(filepath.Join(bin, "temporal-server")); err != nil {
		t.Skip("needs a Temporal server for PostgreSQL: make server")
	}
	cluster := stacktest.NewCluster(t)
	server, err := temporalserver.Start(t.Context(), temporalserver.Options{
		Bin: bin, Dir: t.TempDir(), Store: cluster.URL("postgres"), Shards: 4,
		SearchAttributes: map[string]string{"Provider": "Keyword", "EventType": "Keyword"},
	})
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	columns := describedColumns(t, server)
	require.Len(t, columns, 2)
	fromAPI, err := server.SearchColumns(t.Context())
	require.NoError(t, err)
	require.Equal(t, fromAPI, columns)

	statements, err := os.ReadFile(filepath.Join("temporal", "drop-unused-indexes.sql"))
	require.NoError(t, err)
	var notices []*pgconn.Notice
	config, err := pgx.ParseConfig(cluster.URL("temporal_visibility"))
	require.NoError(t, err)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n) }
	db, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(t.Context()) })
	run := func(keep string) error {
		_, err := db.Exec(t.Context(), "SELECT set_config('holdfast.keep', '"+keep+"', false);\n"+string(statements),
			pgx.QueryExecModeSimpleProtocol)
		return err
	}
	indexes := func() (all []string) {
		rows, err := db.Query(t.Context(), "SELECT indexname FROM pg_indexes WHERE tablename = 'executions_visibility' ORDER BY 1")
		require.NoError(t, err)
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return all
	}

	before := indexes()
	require.Greater(t, len(before), 70)
	require.ErrorContains(t, run(""), "set holdfast.keep")
	require.ErrorContains(t, run(columns[0]), "set holdfast.keep")
	require.ErrorContains(t, run(columns[0]+",Keyword77"), `the column "keyword77"`)
	require.Equal(t, before, indexes())

	var kept []string
	for _, column := range columns {
		kept = append(kept, strings.Replace(strings.ToLower(column), "keyword", "by_keyword_", 1))
	}
	for range 2 {
		require.NoError(t, run(strings.Join(columns, ",")))
		left := indexes()
		require.Len(t, left, 10)
		require.Equal(t, kept, slices.DeleteFunc(left, func(name string) bool { return !strings.HasPrefix(name, "by_keyword") }))
		require.Empty(t, notices)
	}
	schedules := explain(t, db, `SELECT run_id FROM executions_visibility
		WHERE namespace_id = 'n' AND TemporalNamespaceDivision = 'TemporalScheduler'`)
	require.Contains(t, schedules, "by_temporal_namespace_division")
	paused := explain(t, db, `SELECT run_id FROM executions_visibility WHERE namespace_id = 'n' AND TemporalSchedulePaused = true`)
	require.Contains(t, paused, "by_temporal_schedule_paused")
	rows, err := db.Query(t.Context(), "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%IS NOT NULL)' ORDER BY 1")
	require.NoError(t, err)
	partial, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"by_temporal_namespace_division", "by_temporal_schedule_paused", "by_temporal_scheduled_by_id"}, partial)

	_, err = db.Exec(t.Context(), "DROP INDEX "+kept[0])
	require.NoError(t, err)
	require.NoError(t, run(strings.Join(columns, ", ")))
	require.Len(t, notices, 1)
	require.Contains(t, notices[0].Message, "is missing")
	_, err = db.Exec(t.Context(), notices[0].Hint)
	require.NoError(t, err)
	require.Contains(t, indexes(), kept[0])
}

// explain returns the plan of a query that prefers an index.
func explain(t *testing.T, db *pgx.Conn, query string) string {
	t.Helper()
	_, err := db.Exec(t.Context(), "SET enable_seqscan = off")
	require.NoError(t, err)
	rows, err := db.Query(t.Context(), "EXPLAIN "+query)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(plan, "\n")
}

// describedColumns reads the mapping as the file's header says.
func describedColumns(t *testing.T, server *temporalserver.Server) (columns []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join("..", "bin", "temporal"), "operator", "namespace", "describe",
		"-n", server.Namespace(), "--address", server.Address(), "-o", "json").Output()
	require.NoError(t, err)
	var described struct {
		Config struct {
			CustomSearchAttributeAliases map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(out, &described), string(out))
	for column := range described.Config.CustomSearchAttributeAliases {
		columns = append(columns, column)
	}
	slices.Sort(columns)
	return columns
}
