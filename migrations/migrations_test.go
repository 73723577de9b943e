package migrations_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

func TestAnOutdatedDatabaseIsReported(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	require.NoError(t, migrations.Up(t.Context(), url))
	exec(t, url, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	have, want, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.Less(t, have, want)
}

// A file of a lower number than the newest applied one, as a later release may have, is missing until it is applied.
func TestAFileBelowTheNewestIsApplied(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	require.NoError(t, migrations.Up(t.Context(), url))
	exec(t, url, `DELETE FROM goose_db_version WHERE version_id = 1005`)
	have, want, err := migrations.Current(t.Context(), url)
	require.NoError(t, err)
	require.EqualValues(t, 1004, have)
	require.Greater(t, want, int64(1005))
	exec(t, url, `DROP TABLE decisions, dead_letters; DROP FUNCTION tell_dead_letter`) // what the file makes
	require.NoError(t, migrations.Up(t.Context(), url))
	requireCurrent(t, url)
}

// A database of a build from before the first release is refused with what to do, and nothing in it changes.
func TestADatabaseOfAnEarlierBuildIsRefused(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	earlier, err := os.ReadFile("testdata/earlier_build.sql")
	require.NoError(t, err)
	exec(t, url, string(earlier))
	require.ErrorIs(t, migrations.Up(t.Context(), url), migrations.ErrEarlierBuild)
	_, _, err = migrations.Current(t.Context(), url)
	require.ErrorIs(t, err, migrations.ErrEarlierBuild)
	err = migrations.Await(t.Context(), url, func(reason string) { t.Error(reason) })
	require.ErrorIs(t, err, migrations.ErrEarlierBuild, "nobody waits for what never comes")
	require.ErrorContains(t, err, "use a new database and a new namespace, and import the archive")
	exec(t, url, `DO $$ BEGIN
		ASSERT (SELECT count(*) FROM events) = 1 AND (SELECT max(version_id) FROM goose_db_version) = 94
		   AND (SELECT count(*) FROM pg_tables WHERE schemaname = 'public') = 2;
	END $$`)
}

// A migration may run for longer than a statement of an event.
func TestARolesTimeoutsDoNotEndAMigration(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"} {
		exec(t, url, `SET statement_timeout = 0; SET lock_timeout = 0; DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET `+name+` = 1', current_database());
		END $$`)
	}
	require.NoError(t, migrations.Up(t.Context(), url))
	requireCurrent(t, url)
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
	exec(t, url, `CREATE TABLE events (n int)`) // conflicts with the first file
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

// Every file sets a lock timeout: a migration that waits behind a long transaction blocks everything queued after it. An index that
// is built concurrently blocks nothing, so its file has none.
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
		const form = `^-- (?s:.*)-- Locks: (?s:.*)-- \+goose Up\nSET (LOCAL )?lock_timeout = `
		require.Regexp(t, form, string(text), name.Name())
		require.NotContains(t, string(text), "+goose Down", "there is no way down")
	}
	require.Positive(t, files)
}

func sqlFile(name string) bool { return len(name) > 4 && name[len(name)-4:] == ".sql" }

// An index of an existing table is built concurrently, in a file without a transaction that sets its own timeouts. An
// unfinished attempt leaves an invalid index, so the previous statement drops it.
func TestIndexesAreBuiltBesideWriters(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.sql")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, checkIndexes(string(text)), name)
	}
}

var (
	comment     = regexp.MustCompile(`(?m)--.*$`)
	createTable = regexp.MustCompile(`(?i)CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)`)
	createIndex = regexp.MustCompile(
		`(?i)CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s+ON\s+(?:ONLY\s+)?(\w+)`)
)

// checkIndexes returns what is wrong with the indexes that a file builds.
func checkIndexes(file string) error {
	sql := comment.ReplaceAllString(file, "")
	created := map[string]bool{}
	for _, table := range createTable.FindAllStringSubmatch(sql, -1) {
		created[table[1]] = true
	}
	for _, index := range createIndex.FindAllStringSubmatch(sql, -1) {
		concurrently, name, table := index[1] != "", index[2], index[3]
		if created[table] {
			continue
		}
		if !concurrently {
			return fmt.Errorf("index %s: writers of %s wait while it is built: CREATE INDEX CONCURRENTLY", name, table)
		}
		for _, wanted := range []string{
			`DROP INDEX CONCURRENTLY IF EXISTS ` + name + `;\s+CREATE (UNIQUE )?INDEX CONCURRENTLY ` + name + ` ON`,
			`^\s*SET lock_timeout = 0;\s+SET statement_timeout = 0;`, // it waits for transactions that began before it
			`RESET lock_timeout;\s+RESET statement_timeout;\s*$`,
		} {
			if !regexp.MustCompile(wanted).MatchString(sql) {
				return fmt.Errorf("index %s: the file does not have %s", name, wanted)
			}
		}
		if !strings.Contains(file, "-- +goose NO TRANSACTION\n") {
			return fmt.Errorf("index %s: a transaction can build none beside writers: -- +goose NO TRANSACTION", name)
		}
	}
	return nil
}

func TestIndexesThatMakeWritersWaitAreFound(t *testing.T) {
	t.Parallel()
	const (
		begin = "-- +goose NO TRANSACTION\n-- +goose Up\nSET lock_timeout = 0;\nSET statement_timeout = 0;\n"
		drop  = "DROP INDEX CONCURRENTLY IF EXISTS a;\n"
		build = "CREATE INDEX CONCURRENTLY a ON events (id);\n"
		end   = "RESET lock_timeout;\nRESET statement_timeout;\n"
	)
	require.NoError(t, checkIndexes(begin+drop+build+end))
	require.NoError(t, checkIndexes("CREATE TABLE events (id int);\nCREATE INDEX a ON events (id);"))
	for _, wrong := range []string{
		begin + drop + "CREATE INDEX a ON events (id);\n" + end,
		begin + drop + "create unique index a on events (id);\n" + end,
		begin + build + end, begin + drop + build, drop + build + end,
		strings.Replace(begin, "NO TRANSACTION", "Up", 1) + drop + build + end,
		strings.Replace(begin, "SET statement_timeout = 0;", "", 1) + drop + build + end,
		strings.Replace(begin, "lock_timeout = 0", "lock_timeout = '5s'", 1) + drop + build + end,
	} {
		require.Error(t, checkIndexes(wrong), wrong)
	}
}
