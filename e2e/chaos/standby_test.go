package chaos

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

const standbyName = "chaos_standby"

// replicatedDatabase returns a primary and its standby, in separate directories.
func replicatedDatabase(t testing.TB, asynchronous bool) (primary, standby *postgres) {
	t.Helper()
	primary = separatePostgres(t, "chaos-primary")
	require.NoError(t, prepareTemplate(t.Context(), primary))
	standby = primary.newStandby(t)
	if !asynchronous {
		primary.set(t, map[string]string{"synchronous_standby_names": standbyName})
	}
	return primary, standby
}

// separatePostgres starts a server that ends with the test.
func separatePostgres(t testing.TB, name string) *postgres {
	t.Helper()
	dir, err := stacktest.TempDir(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := startPostgres(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(p.kill)
	return p
}

// newStandby starts a standby, which streams from then on.
func (p *postgres) newStandby(t testing.TB) *postgres {
	t.Helper()
	dir, err := stacktest.TempDir(standbyName)
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, stacktest.CopyPrimary(t.Context(), p.server, p.options.Dir, dir, standbyName))
	standby, err := startPostgres(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(standby.kill)
	return standby
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
	promotionDuringMigration,
	failoverBehindPooler,
	bothFailOver(),
}

// awaitSynchronous waits until commits wait for the standby.
func (p *postgres) awaitSynchronous(t testing.TB) {
	t.Helper()
	c := p.connect(t, "postgres")
	eventually(t, time.Minute, "the standby is synchronous", func() error {
		var n int
		err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n)
		if err == nil && n == 0 {
			err = errors.New("it is not")
		}
		return err
	})
}

// databaseURL returns the database's URL for the processes over a link. With a standby and without a pooler it has both hosts.
func (w *world) databaseURL(l *link) string {
	switch {
	case w.pooler != nil:
		return w.urlOf(l.address()) + "&default_query_exec_mode=cache_describe"
	case w.standby != nil:
		return w.urlOf(l.address()+","+hostOf(w.standby.url(w.name))) + "&target_session_attrs=read-write"
	default:
		return w.urlOf(l.address())
	}
}

// urlOf returns the database's URL for the processes on some hosts.
func (w *world) urlOf(hosts string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", roleName, rolePassword, hosts, w.name)
}
