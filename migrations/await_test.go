package migrations_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/migrations"
)

// A pod that waits alongside the migrating Job continues once the tables exist, and has changed nothing.
func TestAProcessWaitsForAMigration(t *testing.T) {
	t.Parallel()
	database := cluster.Database(t)
	told := make(chan string, 10)
	done := make(chan error, 1)
	go func() { done <- migrations.Await(t.Context(), database, func(reason string) { told <- reason }) }()

	require.Regexp(t, `^the database is at migration 0 and this program needs \d+$`, <-told)
	have, _, err := migrations.Current(t.Context(), database)
	require.NoError(t, err)
	require.Zero(t, have)
	require.NoError(t, migrations.Up(t.Context(), database))
	require.NoError(t, <-done)
	require.NoError(t, migrations.Await(t.Context(), database, func(reason string) { t.Error(reason) }))
}

func TestProcessesWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	away, err := url.Parse(cluster.Database(t))
	require.NoError(t, err)
	away.Host, away.RawQuery = "127.0.0.1:1", ""
	away.User = url.UserPassword("holdfast", "hunter22")
	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	err = migrations.Await(ctx, away.String(), func(reason string) {
		told = append(told, reason)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "refused")
	require.NotContains(t, told[0], "hunter22")
}

// After a rollback the older release runs its migration again, on newer tables.
func TestAnOlderProgramLeavesNewerTablesAlone(t *testing.T) {
	t.Parallel()
	database := cluster.Database(t)
	require.NoError(t, migrations.Up(t.Context(), database))
	exec(t, database, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	require.NoError(t, migrations.Up(t.Context(), database))
	require.NoError(t, migrations.Await(t.Context(), database, func(reason string) { t.Error(reason) }))
	have, want, err := migrations.Current(t.Context(), database)
	require.NoError(t, err)
	require.Greater(t, have, want)
}
