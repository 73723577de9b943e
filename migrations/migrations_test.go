package migrations_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

var cluster *stacktest.Cluster

func TestMain(m *testing.M) {
	os.Exit(stacktest.Main(m, func() (err error) {
		cluster, err = stacktest.StartCluster()
		return err
	}))
}

func requireCurrent(t *testing.T, url string) {
	t.Helper()
	have, want, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.Positive(t, want)
	require.Equal(t, want, have)
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func TestAnEmptyDatabaseIsBehindUntilItIsMigrated(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	have, want, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.Zero(t, have)
	files, err := filepath.Glob("*.sql")
	require.NoError(t, err)
	require.GreaterOrEqual(t, want, int64(len(files)))

	require.NoError(t, migrations.Up(t.Context(), url))
	requireCurrent(t, url)
	require.NoError(t, migrations.Up(t.Context(), url), "there is nothing left to do")
	requireCurrent(t, url)
}

func TestTheVersionIsReadWithoutWriting(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	exec(t, url, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
	END $$`)
	have, _, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.Zero(t, have)
}

func TestADatabaseThatIsBehindSaysSo(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	require.NoError(t, migrations.Up(t.Context(), url))
	exec(t, url, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	have, want, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, want-1, have)
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	var group errgroup.Group
	for range 6 {
		group.Go(func() error { return migrations.Up(t.Context(), url) })
	}
	require.NoError(t, group.Wait())
	requireCurrent(t, url)
}

func TestAMigrationThatFailsCanRunAgain(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	exec(t, url, `CREATE TABLE events (n int)`) // in the way of the first file
	require.Error(t, migrations.Up(t.Context(), url))
	exec(t, url, `DROP TABLE events`)
	require.NoError(t, migrations.Up(t.Context(), url))
	requireCurrent(t, url)
}

func TestErrorsDoNotQuoteTheURL(t *testing.T) {
	t.Parallel()
	const url = "postgres://u:CANARY@["
	_, _, err := migrations.Current(t.Context(), url)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "CANARY")
	err = migrations.Up(t.Context(), url)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "CANARY")
}

// Every file bounds how long it waits for locks: a migration that waits behind a long transaction blocks all who come
// after it.
func TestEveryFileBoundsItsLocks(t *testing.T) {
	t.Parallel()
	names, err := os.ReadDir(".")
	require.NoError(t, err)
	files := 0
	for _, name := range names {
		if !sqlFile(name.Name()) {
			continue
		}
		files++
		text, err := os.ReadFile(name.Name())
		require.NoError(t, err)
		const form = `^-- (?s:.*)-- Locks: (?s:.*)-- \+goose Up\nSET LOCAL lock_timeout = `
		require.Regexp(t, form, string(text), name.Name())
		require.NotContains(t, string(text), "+goose Down", "there is no way down")
	}
	require.Positive(t, files)
}

func sqlFile(name string) bool { return len(name) > 4 && name[len(name)-4:] == ".sql" }
