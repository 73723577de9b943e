package devstack

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// parentVariable makes the test program run a dev stack over the named directory, to be killed by a test.
const parentVariable = "DEVSTACK_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentVariable); dir != "" {
		os.Exit(actAsParent(dir))
	}
	os.Exit(m.Run())
}

func actAsParent(dir string) int {
	ctx := context.Background()
	pg, err := StartPostgres(ctx, PostgresOptions{Dir: filepath.Join(dir, PostgresDir), Settings: noSync})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	temporal, err := StartTemporal(ctx, TemporalOptions{
		Binary: os.Getenv("HOLDFAST_TEMPORAL_BIN"), Dir: filepath.Join(dir, TemporalDir),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, pg.PID(), temporal.PID())
	<-pg.Done() // until it is killed
	return 1
}

// startParent starts such a process and returns it with the IDs of its two servers.
func startParent(t *testing.T, dir string) (parent *exec.Cmd, postgres, temporal int) {
	t.Helper()
	skipIfShort(t)
	parent = exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+dir, "HOLDFAST_TEMPORAL_BIN="+temporalBinary(t))
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &postgres, &temporal)
	require.NoError(t, err)
	return parent, postgres, temporal
}

var (
	noSync = map[string]string{"fsync": "off"}
	quiet  = slog.New(slog.DiscardHandler)
)

// startPostgres starts a PostgreSQL that ends with the test.
func startPostgres(t *testing.T, dir string) *Postgres {
	t.Helper()
	skipIfShort(t)
	p, err := StartPostgres(t.Context(), PostgresOptions{Dir: dir, Settings: noSync, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p
}

// startTemporal starts a Temporal that ends with the test.
func startTemporal(t *testing.T, opts TemporalOptions) *Temporal {
	t.Helper()
	opts.Binary, opts.Log = temporalBinary(t), quiet
	s, err := StartTemporal(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// temporalBinary is stacktest.TemporalBinary, which can't be imported because that package imports this one.
func temporalBinary(t *testing.T) string {
	t.Helper()
	skipIfShort(t)
	if path := os.Getenv("HOLDFAST_TEMPORAL_BIN"); path != "" {
		return path
	}
	path, err := FindTemporal(t.Context(), filepath.Join("..", "..", "bin"))
	require.NoError(t, err)
	return path
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: with -short, no servers are started")
	}
}

// query runs a statement and returns the text of the first column of its first row, or "".
func query(t *testing.T, p *Postgres, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// eventually polls a condition that has no signal.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 2*time.Minute, 20*time.Millisecond, what)
}
