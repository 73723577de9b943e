package chaos

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// The primary loses the connection to its synchronous standby, which is promoted while the old primary still accepts
// connections, so two servers accept writes. On the old one, an operator cancels each commit's wait for the standby: it then has
// events that the new one lacks. One ingress and one worker use the old primary, the others the new one.
//
// While the ingresses can't reach Temporal, so that only a database can accept events, the old primary must acknowledge none.
var twoPrimaries = scenario{
	id: "F81", name: "two_writable_primaries", replicated: true, twice: true,
	fault: func(w *world) {
		old := w.sql
		w.standby.set(w.t, map[string]string{"primary_conninfo": "''"})
		cancelled := w.cancelWaits(old, w.some(time.Second, 3*time.Second))
		w.promote()
		for _, n := range []*node{w.ingresses[1], w.workers[1]} {
			n.kill()
			n.environ = append(n.environ, "DATABASE_URL="+w.urlOf(hostOf(w.sql.url(w.name))))
			n.start(w.t)
		}
		cancelled += w.cancelWaits(old, outage)

		w.ingressTemporal.cut()
		split := time.Now()
		cancelled += w.cancelWaits(old, outage)
		w.requireOnlyNewAcknowledges(split)
		w.ingressTemporal.heal(w.t)
		w.logDifference(old, cancelled)
		old.destroy(w.t)
		w.sleep(outage)
	},
	after: func(w *world) { w.receiver.requireOneID() },
}

// cancelWaits cancels for a while each commit's wait for the standby, and counts them.
func (w *world) cancelWaits(old *postgres, d time.Duration) (cancelled int) {
	for until := time.Now().Add(d); time.Now().Before(until); w.sleep(200 * time.Millisecond) {
		n, err := w.on(old).count("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		require.NoError(w.t, err)
		cancelled += n
	}
	return cancelled
}

// requireOnlyNewAcknowledges asserts that only the ingress on the new primary has acknowledged events since a moment.
func (w *world) requireOnlyNewAcknowledges(split time.Time) {
	w.t.Helper()
	old, promoted := w.load.acknowledgedBy(w.ingresses[0].ingress, split), w.load.acknowledgedBy(w.ingresses[1].ingress, split)
	w.t.Logf("in %s without Temporal, the old primary acknowledged %d requests and the new one %d",
		time.Since(split).Round(time.Second), old, promoted)
	require.Zero(w.t, old, "acknowledged by the old primary")
	require.Positive(w.t, promoted, "acknowledged by the new primary")
}

// logDifference asserts that the old primary has events that the new one lacks: otherwise the scenario shows nothing.
func (w *world) logDifference(old *postgres, cancelled int) {
	w.t.Helper()
	before, err := w.on(old).workflowsOf(storedWorkflows)
	require.NoError(w.t, err)
	now, err := w.workflowsOf(storedWorkflows)
	require.NoError(w.t, err)
	only := 0
	for id := range before {
		if !now[id] {
			only++
		}
	}
	w.t.Logf("%d commits on the old primary were cancelled; it has %d events that the new one lacks", cancelled, only)
	require.Positive(w.t, only)
}

// The next release's migration is building an index when the primary is lost with its disk. The standby has the migration's
// first file and an index that isn't valid; on it, the same command finishes the migration. Events arrive all the time.
var promotionDuringMigration = scenario{
	id: "F82", name: "standby_promoted_during_migration", replicated: true, twice: true, code: nextSchema,
	fault: func(w *world) {
		const (
			unfinished = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
			version    = "SELECT max(version_id) FROM goose_db_version WHERE is_applied"
		)
		w.lock("events", "ROW EXCLUSIVE") // the build waits for it
		var broken error
		migrating := make(chan struct{})
		go func() {
			defer close(migrating)
			_, broken = w.runBinary(nextSchema.path, "migrate")
		}()
		w.awaitCount(time.Minute, 1, unfinished)
		w.awaitOnStandby(1, unfinished)
		w.sleep(w.some(time.Second, 3*time.Second))
		w.sql.destroy(w.t)
		<-migrating
		require.Error(w.t, broken, "the migration can't finish on a primary that is gone")
		w.sleep(w.some(time.Second, outage))
		w.promote()
		found, err := w.count(version)
		require.NoError(w.t, err)
		require.Equal(w.t, 9001, found, "the version that the standby has")

		eventually(w.t, 2*time.Minute, "the migration is finished", func() error { // Temporal may be too busy for its schedules
			out, err := w.runBinary(nextSchema.path, "migrate")
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
		found, err = w.count(version)
		require.NoError(w.t, err)
		require.Equal(w.t, 9003, found)
		w.sleep(outage)
	},
}

// The primary behind a PgBouncer is lost with its disk. The processes have only PgBouncer's address, whose configuration is
// reloaded once the standby is promoted.
var failoverBehindPooler = scenario{
	id: "F83", name: "primary_behind_pgbouncer_lost", replicated: true, pooled: true, twice: true,
	fault: func(w *world) {
		w.sleep(w.some(time.Second, 3*time.Second))
		w.sql.destroy(w.t)
		w.sleep(w.some(time.Second, outage))
		w.promote()
		before, err := w.count(processed)
		require.NoError(w.t, err)
		reloaded := time.Now()
		w.configurePooler()
		w.awaitCount(settle, before+1, processed)
		w.t.Logf("the first event was processed %s after PgBouncer's reload", time.Since(reloaded).Round(time.Second/10))
		w.sleep(outage)
	},
}

// The primaries of Holdfast and of Temporal are lost at once with their disks. Both have synchronous standbys.
func bothFailOver() scenario {
	var standby *postgres // of Temporal's database
	return scenario{
		id: "F85", name: "both_databases_fail_over", replicated: true, twice: true,
		prepare: func(w *world) {
			memory := separatePostgres(w.t, "chaos-memory")
			w.stack = w.withTemporal(w.t, memory)
			standby = memory.newStandby(w.t)
			memory.set(w.t, map[string]string{"synchronous_standby_names": standbyName})
			memory.awaitSynchronous(w.t)
		},
		fault: func(w *world) {
			w.sleep(w.some(time.Second, 3*time.Second))
			w.sql.destroy(w.t)
			w.memory.destroy(w.t)
			w.sleep(w.some(time.Second, outage))
			w.promote()
			standby.exec(w.t, "postgres", "SELECT pg_promote()")
			w.memory = standby
			w.store.move(w.t, hostOf(standby.url("postgres")))
			w.temporal.awaitReady(w.t)
			w.sleep(outage)
		},
	}
}
