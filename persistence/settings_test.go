package persistence_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
	settings "holdfast/persistence/postgres/session"
)

// turned has each setting that Holdfast relies on at a value that it can't use or doesn't want.
var turned = map[string]string{
	"client_min_messages":           "error",
	"synchronous_commit":            "off",
	"default_transaction_isolation": "serializable",
	"session_replication_role":      "replica",
	"client_encoding":               "LATIN1",
	"array_nulls":                   "off",
	"standard_conforming_strings":   "off",
	"transform_null_equals":         "on",
	"DateStyle":                     "German",
	"IntervalStyle":                 "sql_standard",
	"TimeZone":                      "Pacific/Auckland",
	"bytea_output":                  "escape",
	"extra_float_digits":            "-3",
	"quote_all_identifiers":         "on",
	"enable_indexscan":              "off",
	"enable_indexonlyscan":          "off",
	"enable_bitmapscan":             "off",
	"enable_nestloop":               "off",
	"enable_sort":                   "off",
}

// besides are settings that Holdfast sets for each transaction, or that must not matter.
var besides = map[string]string{
	"plan_cache_mode": "force_custom_plan", "enable_seqscan": "on", "enable_hashjoin": "on", "jit_above_cost": "0",
	"backslash_quote": "off", "escape_string_warning": "on", "xmlbinary": "hex", "row_security": "off", "lock_timeout": "1",
	"statement_timeout": "1", "idle_in_transaction_session_timeout": "1", "default_transaction_deferrable": "on",
	"check_function_bodies": "off", "default_toast_compression": "pglz",
}

// turn sets a setting for the database, or for the role in it, which takes precedence.
func turn(t *testing.T, url, name, value string, forRole bool) {
	t.Helper()
	what := `DATABASE %[1]s`
	if forRole {
		what = `ROLE CURRENT_USER IN DATABASE %[1]s`
	}
	conn := connectPlainly(t, url)
	quoted := pgx.Identifier{conn.Config().Database}.Sanitize()
	_, err := conn.Exec(t.Context(), fmt.Sprintf(`ALTER `+what+` SET %[2]s = '%[3]s'`, quoted, name, value))
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func turnAll(t *testing.T, url string, forRole bool, except ...string) {
	t.Helper()
	for _, all := range []map[string]string{turned, besides} {
		for name, value := range all {
			if !slices.Contains(except, name) {
				turn(t, url, name, value, forRole)
			}
		}
	}
}

func TestEachSettingIsTurnedInTests(t *testing.T) {
	t.Parallel()
	for _, s := range settings.Settings {
		require.Contains(t, turned, s.Name)
		require.NotEqual(t, turned[s.Name], s.Value, s.Name)
	}
	require.Len(t, turned, len(settings.Settings))
}

// Settings of a role or a database change no result: the migrations and each step work as without them.
func TestSettingsOfARoleChangeNothing(t *testing.T) {
	t.Parallel()
	stacktest.SkipIfShort(t)
	for _, forRole := range []bool{false, true} {
		admin := persistencetest.Cluster.URL("postgres")
		name := fmt.Sprintf("turned_%t", forRole)
		conn := connect(t, admin)
		_, err := conn.Exec(t.Context(), `CREATE DATABASE `+name+` TEMPLATE template0`)
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := conn.Exec(context.Background(), `DROP DATABASE `+name+` (FORCE)`)
			require.NoError(t, err)
		})
		plain := persistencetest.Cluster.URL(name)
		turnAll(t, plain, forRole, "session_replication_role")

		require.NoError(t, migrations.Up(t.Context(), plain))
		have, want, err := migrations.Current(t.Context(), plain)
		require.NoError(t, err)
		require.Equal(t, want, have)
		d := &database{t: t, url: plain, sql: connectPlainly(t, plain)}
		d.Store = openAt(t, plain)
		d.useAll()
	}
}

// connectPlainly connects with the settings that Holdfast relies on, for what a test itself reads.
func connectPlainly(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	require.NoError(t, err)
	settings.Configure(config.RuntimeParams)
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["lock_timeout"] = "0"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// A setting that Holdfast can't change for itself, behind a pooler for example, refuses the connection and is named.
func TestAnUnsuitableSettingIsNamed(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, store *persistence.Store, name string) {
		t.Helper()
		r := receipt()
		_, err := store.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.Equal(t, "unsuitable_setting", event.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, event.ClassTransient, event.ClassOf(err))
		require.ErrorContains(t, err, "ALTER ROLE … SET "+name+" = '")
		require.ErrorContains(t, store.Ping(t.Context()), name)
	}
	t.Run("session_replication_role", func(t *testing.T) {
		t.Parallel()
		database := persistencetest.Cluster.Database(t)
		turn(t, database, "session_replication_role", "replica", true)
		refused(t, openAt(t, database), "session_replication_role")
	})
	for _, name := range settings.Names() {
		t.Run("pooler/"+name, func(t *testing.T) {
			t.Parallel()
			if name == "client_encoding" || name == "standard_conforming_strings" {
				t.Skip("PgBouncer itself keeps this setting of a client")
			}
			database := persistencetest.Cluster.Database(t)
			turn(t, database, name, turned[name], true)
			refused(t, openAt(t, pgbouncer(t, database, "cache_describe", "")), name)
		})
	}
}

// A commit that isn't on disk is none, whatever the role says. A stronger setting stays.
func TestACommitIsOnDisk(t *testing.T) {
	t.Parallel()
	for set, is := range map[string]string{"off": "on", "local": "on", "remote_apply": "remote_apply"} {
		database := persistencetest.Cluster.Database(t)
		turn(t, database, "synchronous_commit", set, true)
		facts, err := openAt(t, database).Read.Facts(t.Context())
		require.NoError(t, err)
		require.Equal(t, is, facts.Settings["synchronous_commit"])
	}
}

// The only sign of a commit whose wait for the standby was canceled is a warning, which the role's setting would suppress.
func TestACanceledWaitIsSeenWithoutWarnings(t *testing.T) {
	t.Parallel()
	d := openReplicated(t)
	turn(t, d.url, "client_min_messages", "error", false)
	store := openAt(t, d.url)
	writer := store.Inbox.NewInboxWriter()
	require.NoError(t, d.standby.Stop())
	for name, do := range map[string]func() error{
		"event": func() error {
			_, err := store.Writer.Write(t.Context(), event.RowOnly, receipt(), body, parsed(), runOf(receipt()))
			return err
		},
		"inbox": func() error {
			_, err := writer.Spool(t.Context(), event.LaneOverflow, receipt(), body, false)
			return err
		},
		"dead letter": func() error { return store.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(receipt())) },
	} {
		ended := d.waits(do)
		d.exec(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		require.Error(t, <-ended, name)
		require.Eventually(t, func() bool { return d.waiting() == 0 }, time.Minute, time.Millisecond)
	}
}

// Whether the database can commit is found out without creating anything.
func TestACommitIsTried(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 3 {
		require.NoError(t, d.TryCommit(t.Context()))
	}
	require.Equal(t, 1, value[int](d, `SELECT count(*) FROM commit_checks`))
	turn(t, d.url, "default_transaction_read_only", "on", true)
	require.Error(t, openAt(t, d.url).TryCommit(t.Context()))
}
