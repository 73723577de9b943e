package chaos

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

// outage is how long most faults last.
const outage = 6 * time.Second

var postgresFaults = []scenario{
	{id: "F01", name: "database_stopped_at_once", accepts: true, twice: true, fault: func(w *world) {
		w.sql.abort()
		w.sleep(outage)
		w.sql.start(w.t)
	}},
	{id: "F02", name: "database_killed", fault: func(w *world) {
		for range 2 {
			w.sql.kill()
			w.sleep(outage / 2)
			w.sql.start(w.t)
			w.sleep(w.some(time.Second, 2*time.Second))
		}
	}},
	{id: "F03", name: "database_backend_killed", fault: func(w *world) {
		for range 3 {
			pid, err := w.count("SELECT pid FROM pg_stat_activity WHERE usename = $1 AND datname = $2 LIMIT 1", roleName, w.name)
			require.NoError(w.t, err)
			require.NoError(w.t, syscall.Kill(pid, syscall.SIGKILL)) // the postmaster then restarts them all
			w.sleep(w.some(2*time.Second, 4*time.Second))
		}
	}},
	{id: "F04", name: "database_sessions_terminated", fault: func(w *world) {
		for range int(outage / (200 * time.Millisecond)) {
			w.terminateSessions()
			w.sleep(200 * time.Millisecond)
		}
	}},
	{id: "F06", name: "database_slow", fault: func(w *world) {
		w.workerDatabase.disturb(w.t, "latency", down, `{"latency":800,"jitter":400}`)
		w.ingressDatabase.disturb(w.t, "latency", down, `{"latency":800,"jitter":400}`)
		w.sleep(outage)
	}},
	{id: "F07", name: "database_black_hole", fault: func(w *world) {
		w.workerDatabase.blackHole(w.t, up)
		w.ingressDatabase.blackHole(w.t, up)
		w.sleep(outage)
	}},
	{id: "F08", name: "database_connections_reset", fault: cutInTheMiddle},
	{id: "F10", name: "database_table_locked", fault: func(w *world) {
		release := w.lock("events", "ACCESS EXCLUSIVE")
		w.sleep(outage)
		release()
	}},
	{id: "F11", name: "database_deadlocks", fault: crossedUpserts},
	{id: "F12", name: "database_pool_exhausted", environ: []string{"HOLDFAST_DATABASE_MAX_CONNS=2"}, fault: func(w *world) {
		w.workerDatabase.disturb(w.t, "latency", down, `{"latency":300,"jitter":100}`)
		w.sleep(outage)
	}},
	{id: "F12", name: "database_refuses_connections", fault: func(w *world) {
		w.sql.exec(w.t, "postgres", "ALTER ROLE "+roleName+" CONNECTION LIMIT 1")
		w.terminateSessions()
		w.sleep(outage)
		w.sql.exec(w.t, "postgres", "ALTER ROLE "+roleName+" CONNECTION LIMIT -1")
	}},
	{id: "F13, F14", name: "database_disk_full", disk: 224, twice: true, fault: fillDisk},
	{id: "F15", name: "database_read_only", fault: func(w *world) {
		undo := w.sql.set(w.t, map[string]string{"default_transaction_read_only": "on"})
		defer undo()
		w.sleep(outage)
	}},
	{id: "F16", name: "database_migrated_under_load", fault: migrateUnderLoad},
}

// terminateSessions ends all of the processes' sessions.
func (w *world) terminateSessions() {
	w.sql.exec(w.t, w.name, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s'", roleName))
}

// lock locks a table until release is called. Statements that wait longer than their timeout are retried.
func (w *world) lock(table, mode string) (release func()) {
	c := w.sql.connect(w.t, w.name)
	_, err := c.Exec(w.t.Context(), fmt.Sprintf("BEGIN; LOCK TABLE %s IN %s MODE", table, mode))
	require.NoError(w.t, err)
	return func() {
		_, err := c.Exec(w.t.Context(), "ROLLBACK")
		require.NoError(w.t, err)
	}
}

// cutInTheMiddle resets connections, and truncates or splits results.
func cutInTheMiddle(w *world) {
	for until := time.Now().Add(outage); time.Now().Before(until); {
		switch w.rng.IntN(3) {
		case 0:
			w.workerDatabase.disturb(w.t, "reset_peer", down, `{"timeout":0}`)
		case 1:
			w.workerDatabase.disturb(w.t, "limit_data", down, fmt.Sprintf(`{"bytes":%d}`, 200+w.rng.IntN(2000)))
		default:
			w.workerDatabase.disturb(w.t, "slicer", down, `{"average_size":20,"size_variation":10,"delay":2000}`)
		}
		w.sleep(w.some(200*time.Millisecond, time.Second))
		w.workerDatabase.heal(w.t)
		w.sleep(w.some(50*time.Millisecond, 300*time.Millisecond))
	}
}

// crossedUpserts sends pairs of events about the same two customers in opposite orders.
func crossedUpserts(w *world) {
	var sending sync.WaitGroup
	for pair := range 50 {
		a, b := fmt.Sprintf("cus_a_%d", pair%5), fmt.Sprintf("cus_b_%d", pair%5)
		for i, order := range [][2]string{{a, b}, {b, a}} {
			id := fmt.Sprintf("evt_%s_crossed_%d_%d", w.load.maker.run, pair, i)
			m := message{provider: "stripe", key: id, body: fmt.Appendf(nil, `{"id":%q,"object":"event","created":%d,
"type":"customer.updated","data":{"object":{"id":%q,"object":"customer","customer":%q,"name":%q}}}`,
				id, time.Now().Unix(), order[0], order[1], id)}
			sending.Go(func() { w.load.send(m, ledger.KindEvent, w.load.doors[i]) })
		}
	}
	sending.Wait()
	w.sleep(outage / 2)
}

// migrateUnderLoad does what a release might: several concurrent migrators, one of which is killed; a new column; and an index
// whose build is interrupted and restarted.
func migrateUnderLoad(w *world) {
	var migrators sync.WaitGroup
	migrators.Go(func() {
		ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
		defer cancel()
		killed := exec.CommandContext(ctx, holdfast, "migrate")
		killed.Env = w.environment(w.address, w.sql.url(w.name))
		_ = killed.Run() // killed on purpose
	})
	for range 2 {
		migrators.Go(func() { // Temporal may be too busy for its schedules, so it is retried
			var out string
			err := errors.New("not run")
			for try := 0; err != nil && try < 4; try++ {
				out, err = w.run("migrate")
			}
			if err != nil {
				w.t.Errorf("migrate beside another: %v: %s", err, out)
			}
		})
	}
	migrators.Wait()
	w.sql.exec(w.t, w.name, "ALTER TABLE events ADD COLUMN next_release text",
		"ALTER TABLE dead_letters ADD COLUMN next_release text")
	index := "CREATE INDEX CONCURRENTLY next_release ON events (next_release)"
	c := w.sql.connect(w.t, w.name)
	_, err := c.Exec(w.t.Context(), "SET statement_timeout = 1")
	require.NoError(w.t, err)
	_, err = c.Exec(w.t.Context(), index)
	w.t.Logf("the index, ended half-way: %v", err)
	w.sleep(2 * time.Second)
	w.sql.exec(w.t, w.name, "DROP INDEX IF EXISTS next_release", index)
	invalid, err := w.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
	require.NoError(w.t, err)
	require.Zero(w.t, invalid, "indexes that are not valid")
}
