package devstack

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
)

func TestPostgresKeepsItsDataAndPortOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startPostgres(t, dir)
	query(t, first, "CREATE TABLE notes AS SELECT 'kept' AS note")
	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.Err(), "a stop is no failure")

	second := startPostgres(t, dir)
	require.Equal(t, first.URL("x"), second.URL("x"))
	require.Equal(t, "kept", query(t, second, "SELECT note FROM notes"))
}

func TestPostgresIsSetUpForProduction(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	p, err := StartPostgres(t.Context(), PostgresOptions{Dir: t.TempDir(), Database: "orders", Log: quiet})
	require.NoError(t, err)
	defer p.Stop(t.Context()) //nolint:errcheck // covered elsewhere
	require.Equal(t, "on", query(t, p, "SELECT current_setting('fsync')"))
	require.Equal(t, "UTF8", query(t, p, "SELECT current_setting('server_encoding')"))
	require.Equal(t, "127.0.0.1", query(t, p, "SELECT current_setting('listen_addresses')"))
	require.Equal(t, "orders", query(t, p, "SELECT datname FROM pg_database WHERE datname = 'orders'"))
	require.Empty(t, query(t, p, "SELECT type FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'"))
	require.NoError(t, p.CreateDatabase(t.Context(), "orders"), "creating it again changes nothing")
}

func TestPostgresIsRestartedWhenItIsKilled(t *testing.T) {
	t.Parallel()
	p := startPostgres(t, t.TempDir())
	query(t, p, "CREATE TABLE notes AS SELECT 'kept' AS note")
	killed := p.PID()
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))

	eventually(t, "the server is back", func() bool { return p.PID() != killed && p.Ping(t.Context()) == nil })
	require.Equal(t, "kept", query(t, p, "SELECT note FROM notes"))
}

// An earlier run was killed and its server lives on (as on macOS): the next start ends it.
func TestPostgresEndsALeftoverServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startPostgres(t, dir)
	query(t, first, "CREATE TABLE notes AS SELECT 'kept' AS note")
	require.NoError(t, first.Stop(t.Context()))
	leftover := first.command()
	require.NoError(t, leftover.Start())
	ended := make(chan error, 1)
	go func() { ended <- leftover.Wait() }()
	eventually(t, "the leftover answers", func() bool { return first.Ping(t.Context()) == nil })

	second := startPostgres(t, dir)
	require.NoError(t, <-ended, "it was shut down, not killed")
	require.Equal(t, "kept", query(t, second, "SELECT note FROM notes"))
}

// After a crash of the machine, the lock file's process ID may belong to an unrelated process, which must not be killed.
func TestPostgresIgnoresALockFileThatNamesAStranger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, startPostgres(t, dir).Stop(t.Context()))
	stranger := exec.Command("sleep", "600")
	require.NoError(t, stranger.Start())
	defer stranger.Process.Kill() //nolint:errcheck // it may have ended
	lock := filepath.Join(dir, "data", "postmaster.pid")
	require.NoError(t, os.WriteFile(lock, []byte(strconv.Itoa(stranger.Process.Pid)+"\n"), 0o600))

	startPostgres(t, dir)
	require.NotEmpty(t, child.CommandLine(stranger.Process.Pid))
}

func TestPostgresStartsOverAnInterruptedInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data.new", "base"), 0o700))
	require.NoError(t, startPostgres(t, dir).Ping(t.Context()))
}

// A clone made by root may be in a directory that the server's user can't enter.
func TestPostgresRunsBelowAClosedDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: the server runs as the user who owns the directory")
	}
	closed := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.Mkdir(closed, 0o700))
	p := startPostgres(t, filepath.Join(closed, "clone", ".holdfast", "postgres"))
	require.NoError(t, p.Ping(t.Context()))
	var stat syscall.Stat_t
	require.NoError(t, syscall.Stat(filepath.Join(closed, "clone", ".holdfast", "postgres", "data"), &stat))
	require.NotZero(t, stat.Uid, "the data belong to an unprivileged user")
}

func TestPostgresNamesTheVersionThatItsDataNeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600))
	_, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Log: quiet})
	require.ErrorContains(t, err, "was written by PostgreSQL 9")
}

func TestPostgresThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	_, err := StartPostgres(t.Context(), PostgresOptions{
		Dir: t.TempDir(), Log: quiet, Settings: map[string]string{"fsync": "off", "shared_buffers": "plenty"},
	})
	require.ErrorContains(t, err, `invalid value for parameter "shared_buffers"`)
}

func TestSecretsAreReadableByTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	made, err := ensureSecret(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(made), 26)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	again, err := ensureSecret(file)
	require.NoError(t, err)
	require.Equal(t, made, again)
}
