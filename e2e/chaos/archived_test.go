package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// archived is a PostgreSQL that archives its write-ahead log, so that it can be restored to a moment.
type archived struct {
	*postgres
	dir string
}

func (a archived) log() string    { return filepath.Join(a.dir, "archive") }
func (a archived) backup() string { return filepath.Join(a.dir, "backup") }

func archivedPostgres(t testing.TB) archived {
	t.Helper()
	dir, err := stacktest.TempDir("chaos-archived")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := archived{dir: dir}
	require.NoError(t, os.Mkdir(a.log(), 0o777))
	require.NoError(t, os.Chmod(a.log(), 0o777)) // the server is another user
	a.postgres, err = startPostgres(t.Context(), filepath.Join(dir, "original"), map[string]string{
		"archive_mode": "on", "archive_command": "cp %p " + a.log() + "/%f",
	})
	require.NoError(t, err)
	t.Cleanup(a.kill)
	return a
}

// backUp copies the data from which it can be restored, and verifies the copy.
func (a archived) backUp(t testing.TB) {
	t.Helper()
	require.NoError(t, stacktest.CopyPrimary(t.Context(), a.server, a.options.Dir, a.backup(), "backup"))
	verify := a.server.Program(t.Context(), "pg_verifybackup", filepath.Join(a.backup(), "data"))
	require.NoError(t, verify.Run(), "pg_verifybackup; see %s", a.options.Dir)
}

// now returns the server's time.
func (a archived) now(t testing.TB) (now time.Time) {
	t.Helper()
	require.NoError(t, a.connect(t, "postgres").QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
	return now
}

// end archives the rest of the log and destroys the server.
func (a archived) end(t testing.TB) {
	t.Helper()
	c := a.connect(t, "postgres")
	var last string
	require.NoError(t, c.QueryRow(t.Context(), "SELECT pg_walfile_name(pg_switch_wal())").Scan(&last))
	eventually(t, time.Minute, "the log is archived", func() error {
		_, err := os.Stat(filepath.Join(a.log(), last))
		return err
	})
	a.destroy(t)
}

// restore starts a server with the data of a moment.
func (a archived) restore(t testing.TB, moment time.Time) *postgres {
	t.Helper()
	data := filepath.Join(a.backup(), "data")
	require.NoError(t, os.Rename(filepath.Join(data, "standby.signal"), filepath.Join(data, "recovery.signal")))
	p, err := startPostgres(t.Context(), a.backup(), map[string]string{
		"restore_command":        "cp " + a.log() + "/%f %p",
		"recovery_target_time":   moment.UTC().Format("2006-01-02 15:04:05.999999+00"),
		"recovery_target_action": "promote",
	})
	require.NoError(t, err)
	t.Cleanup(p.kill)
	eventually(t, time.Minute, "the server is restored", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c, err := pgx.Connect(ctx, p.url("postgres"))
		if err != nil {
			return err
		}
		defer c.Close(ctx)
		var recovers bool
		if err := c.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&recovers); err != nil || recovers {
			return fmt.Errorf("recovers: %t: %w", recovers, err)
		}
		return nil
	})
	return p
}
