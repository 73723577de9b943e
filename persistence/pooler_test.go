package persistence_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
	"holdfast/migrations"
	"holdfast/persistence"
)

// pgbouncer starts a PgBouncer in front of a database, and returns the URL to connect to. All clients share two sessions.
func pgbouncer(t *testing.T, database, execMode, ignored string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("there is no pgbouncer on this machine: apt-get install pgbouncer")
	}
	server, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().(*net.TCPAddr)
	require.NoError(t, listener.Close())
	dir, err := os.MkdirTemp("", "pgbouncer") //nolint:usetesting // another user reads it, so it cannot be below a private one
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	file := filepath.Join(dir, "pgbouncer.ini")
	password, _ := server.User.Password()
	ini := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = %s
`, server.Hostname(), server.Port(), server.User.Username(), password, address.Port, ignored)
	require.NoError(t, os.WriteFile(file, []byte(ini), 0o644))
	args := []string{file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...) // it refuses root
	}
	command := exec.Command(program, args...)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	server.Host = address.String()
	query := url.Values{"sslmode": {"disable"}}
	if execMode != "" {
		query.Set("default_query_exec_mode", execMode)
	}
	server.RawQuery = query.Encode()
	return server.String()
}

// A pooler in session mode is sent no setting that it isn't known to ignore.
func TestASessionPoolerGetsTimeoutsOnly(t *testing.T) {
	t.Parallel()
	direct := open(t)
	store := openAt(t, pgbouncer(t, direct.url, "cache_statement", "statement_timeout, lock_timeout, idle_in_transaction_session_timeout"))
	require.NoError(t, store.Ping(t.Context()))
	_, _, err := migrations.Current(t.Context(), pgbouncer(t, direct.url, "cache_statement", ""))
	require.NoError(t, err)
}

func openAt(t *testing.T, url string) *persistence.Store {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{URL: url, MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// Behind PgBouncer in transaction mode, with two sessions for eight connections, everything works that works without.
func TestAllWorksBehindPgBouncer(t *testing.T) {
	t.Parallel()
	direct := open(t)
	d := &database{t: t, url: direct.url, sql: direct.sql}
	d.Store = openAt(t, pgbouncer(t, direct.url, "cache_describe", ""))
	pooling, err := d.Pooling(t.Context())
	require.NoError(t, err)
	require.Equal(t, persistence.PoolingTransaction, pooling)

	d.useAll()
	require.ErrorIs(t, migrations.Up(t.Context(), pgbouncer(t, direct.url, "cache_describe", "")), migrations.ErrPooler)
	have, want, err := migrations.Current(t.Context(), pgbouncer(t, direct.url, "cache_describe", ""))
	require.NoError(t, err)
	require.Equal(t, want, have)
}

// useAll takes events through each step, in many transactions at once.
func (d *database) useAll() {
	d.t.Helper()
	const workers, events = 8, 12
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := range events {
				r, p := receipt(), parsed(patch("shared", `{"`+receipt().ID+`":1}`), snapshot("own", `{"a":1}`))
				p.OccurredAt = noon.Add(time.Duration(-i) * time.Minute) // most are out of order
				if _, err := d.Writer.Write(d.t.Context(), event.WholeEvent, r, body, parsed(snapshot(r.ID, `{}`)), runOf(r)); err != nil {
					d.t.Error(err)
				}
				again := receipt()
				if _, err := d.Writer.Write(d.t.Context(), event.RowOnly, again, body, p, runOf(again)); err != nil {
					d.t.Error(err)
				}
				if err := d.UpsertEntities(d.t.Context(), again, p, runOf(again)); err != nil {
					d.t.Error(err)
				}
				if err := d.DeadLetters.RecordDeadLetter(d.t.Context(), deadLetterOf(receipt())); err != nil {
					d.t.Error(err)
				}
			}
		})
	}
	writer := d.Inbox.NewInboxWriter()
	for range workers {
		working.Go(func() {
			for range events {
				if _, err := writer.Spool(d.t.Context(), event.LaneBulk, receipt(), []byte("\x00\xff"), false); err != nil {
					d.t.Error(err)
				}
				_, err := d.Writer.ProcessBatch(d.t.Context(), 5, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
					return parsed(snapshot(r.ID, `{}`)), nil
				})
				if err != nil {
					d.t.Error(err)
				}
			}
		})
	}
	working.Wait()
	var seen []event.Waiting
	d.spool(event.LaneOverflow, 3)
	n, err := d.Inbox.DrainInbox(d.t.Context(), event.LaneOverflow, 9, all(event.StartOutcome{Started: true}, &seen))
	require.NoError(d.t, err)
	require.Equal(d.t, 3, n)
	require.Equal(d.t, workers*events*3, value[int](d, `SELECT count(*) FROM events WHERE status = 'processed'`)+
		value[int](d, `SELECT count(*) FROM inbox`))
	require.Equal(d.t, workers*events, value[int](d, `SELECT count(*) FROM dead_letters`))
	claim, alerts, err := d.Errors.ClaimAlerts(d.t.Context())
	require.NoError(d.t, err)
	require.Len(d.t, alerts, workers*events)
	require.NoError(d.t, d.Errors.SettleAlerts(d.t.Context(), claim, alerts, true))
	_, err = d.Upkeep.Expunge(d.t.Context(), value[string](d, `SELECT id::text FROM events ORDER BY id LIMIT 1`), 0, ada)
	require.NoError(d.t, err)
	require.Positive(d.t, d.purge(retention.Events, time.Now().Add(time.Hour)))
}

// With statements prepared by name the pooler is refused, before it can fail an event; unsupported modes are refused at once.
func TestSettingsThatBreakAPoolerAreRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol", "describe_exec"} {
		_, err := persistence.Open(t.Context(), persistence.Config{URL: "postgres://h@127.0.0.1/h?default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "use cache_describe")
	}
	direct := open(t)
	pooling, err := direct.Pooling(t.Context())
	require.NoError(t, err)
	require.Equal(t, persistence.PoolingNone, pooling)

	for _, ignored := range []string{"", "statement_timeout, lock_timeout, idle_in_transaction_session_timeout"} {
		store := openAt(t, pgbouncer(t, direct.url, "", ignored))
		r := receipt()
		_, err = store.Writer.Write(t.Context(), event.RowOnly, r, body, parsed(), runOf(r))
		require.Error(t, err)
		require.Equal(t, event.ClassTransient, event.ClassOf(err))
		require.ErrorContains(t, err, "add default_query_exec_mode=cache_describe to DATABASE_URL")
	}
}
