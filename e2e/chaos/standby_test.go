package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

const standbyName = "chaos_standby"

// replicatedDatabase returns a primary and its standby, in separate directories.
func replicatedDatabase(t testing.TB, asynchronous bool) (primary, standby *postgres) {
	t.Helper()
	dir, err := stacktest.TempDir("chaos-replicated")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	primary, err = startPostgres(t.Context(), filepath.Join(dir, "primary"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { primary.kill() })
	require.NoError(t, prepareTemplate(t.Context(), primary))

	copied := filepath.Join(dir, "standby")
	require.NoError(t, stacktest.CopyPrimary(t.Context(), primary.server, primary.options.Dir, copied, standbyName))
	standby, err = startPostgres(t.Context(), copied, nil)
	require.NoError(t, err)
	t.Cleanup(func() { standby.kill() })
	if !asynchronous {
		primary.set(t, map[string]string{"synchronous_standby_names": standbyName})
	}
	return primary, standby
}

// promote makes the standby the world's database.
func (w *world) promote() {
	w.standby.exec(w.t, "postgres", "SELECT pg_promote()")
	w.sql = w.standby
}

var failoverFaults = []scenario{
	// The primary's machine is gone, with its disk. The processes find the new primary in their connection string.
	{id: "F70", name: "primary_lost_with_its_disk", replicated: true, twice: true, fault: func(w *world) {
		w.sleep(w.some(time.Second, 3*time.Second))
		w.sql.destroy(w.t)
		w.sleep(w.some(time.Second, outage))
		w.promote()
		w.sleep(outage)
	}},
	// The standby is away: no commit ends, and only Temporal can accept events.
	{id: "F71", name: "standby_lost", replicated: true, fault: func(w *world) {
		w.standby.kill()
		w.sleep(outage)
		w.standby.start(w.t)
	}},
	// As F70, with each event in both stores.
	{
		id: "F72", name: "primary_lost_events_in_both_stores", replicated: true, environ: []string{"HOLDFAST_INGRESS_ACK=stored"},
		fault: func(w *world) {
			w.sql.destroy(w.t)
			w.sleep(w.some(time.Second, outage))
			w.promote()
		},
	},
	asynchronousFailover,
	twoPrimaries,
}

// requireSynchronous waits until commits wait for the standby.
func (w *world) requireSynchronous() {
	w.awaitCount(time.Minute, 1, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
}

// databaseURL returns the database's URL for the processes over a link. With a standby it has both hosts.
func (w *world) databaseURL(l *link) string {
	if w.standby != nil {
		return w.urlOf(l.address()+","+hostOf(w.standby.url(w.name))) + "&target_session_attrs=read-write"
	}
	return w.urlOf(l.address())
}

// urlOf returns the database's URL for the processes on some hosts.
func (w *world) urlOf(hosts string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", roleName, rolePassword, hosts, w.name)
}
