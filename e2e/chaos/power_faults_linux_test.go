package chaos

import (
	"context"
	"syscall"
	"time"

	"holdfast/internal/devstack/child"
)

// powered is a database on a disk that loses power.
type powered struct {
	*postgres
	disk *poweredDisk
}

// kill also ends the backends, which would keep the disk busy until they notice the postmaster's end.
func (d powered) kill() {
	d.postgres.kill()
	running := func() []int { return child.PostgresProcesses(d.disk.mounted) }
	child.EndProcesses(context.Background(), running(), syscall.SIGKILL, running, 10*time.Second)
}

// poweredDatabase starts a separate database for the world, which loses power.
func poweredDatabase(w *world, fsync string) powered {
	p, disk := poweredPostgres(w.t, fsync)
	w.sql = p
	return powered{p, disk}
}

// poweredMemory starts a separate Temporal for the world, whose database loses power.
func poweredMemory(w *world, fsync string) powered {
	p, disk := poweredPostgres(w.t, fsync)
	w.stack = w.withTemporal(w.t, p)
	return powered{p, disk}
}

// powerFaults cut the power of databases while events arrive. Before a cut, the events are in one store only.
var powerFaults = concat(powerLoss(), powerLossWithoutFsync())

func powerLoss() []scenario {
	var database, memory powered
	return []scenario{
		{
			id: "F75", name: "database_loses_power", twice: true,
			prepare: func(w *world) { database = poweredDatabase(w, "on") },
			fault: func(w *world) {
				for i := range *cuts {
					if i%2 == 0 { // the events are in the inbox only
						w.ingressTemporal.cut()
					}
					w.cutPower(database)
					w.ingressTemporal.heal(w.t)
				}
			},
		},
		{
			id: "F76", name: "temporals_database_loses_power", twice: true,
			prepare: func(w *world) { memory = poweredMemory(w, "on") },
			fault: func(w *world) {
				for i := range *cuts {
					if i%2 == 0 { // the events are in Temporal only
						w.each(w.workers, (*node).freeze)
					}
					w.cutPower(memory)
					w.each(w.workers, (*node).thaw)
				}
			},
		},
		{
			id: "F77", name: "machine_loses_power", twice: true,
			prepare: func(w *world) { database, memory = poweredDatabase(w, "on"), poweredMemory(w, "on") },
			fault: func(w *world) {
				for range *cuts {
					w.cutPower(database, memory)
				}
			},
		},
	}
}

// cutPower lets events arrive, cuts the power of databases at once, and restarts them on what has survived. If both lose it, so do
// all processes.
func (w *world) cutPower(databases ...powered) {
	w.load.awaitAccepted(time.Minute, afterwards)
	w.sleep(w.some(0, 2*time.Second))
	databases[0].disk.cutDuringWrites(w.rng)
	for _, d := range databases[1:] {
		d.disk.cut(w.rng)
	}
	off := time.Now()
	w.sleep(w.some(0, time.Second)) // writes and syncs fail
	whole := len(databases) > 1
	if whole {
		w.temporal.kill()
		w.each(w.nodes(), (*node).kill)
	}
	for _, d := range databases {
		d.kill()
	}
	for _, d := range databases {
		d.disk.restore()
		d.start(w.t)
	}
	w.t.Logf("restarted %s after the cut", time.Since(off).Round(time.Millisecond))
	if whole {
		w.temporal.start(w.t)
		w.each(w.nodes(), func(n *node) { n.launch(w.t) })
	}
}

// powerLossWithoutFsync are the controls: databases that don't sync lose events.
func powerLossWithoutFsync() []scenario {
	var database, memory powered
	return []scenario{
		{
			id: "F75", name: "database_loses_power_without_fsync",
			prepare: func(w *world) { database = poweredDatabase(w, "off") },
			fault: func(w *world) {
				database.disk.sync()
				w.load.awaitAccepted(time.Minute, warmUp)
				w.load.stop()
				w.awaitQuiet(settle)
			},
			loses: func(w *world) int { return w.lostWith(database) },
		},
		{
			id: "F76", name: "temporals_database_loses_power_without_fsync",
			prepare: func(w *world) { memory = poweredMemory(w, "off") },
			fault: func(w *world) {
				memory.disk.sync()
				w.each(w.workers, (*node).kill)
				w.load.awaitAccepted(time.Minute, warmUp)
				w.load.stop()
			},
			loses: func(w *world) int { return w.lostWith(memory) },
		},
	}
}

// lostWith cuts the power of a database and everything that uses it, and counts what is then missing. A store that doesn't start
// has nothing.
func (w *world) lostWith(d powered) int {
	d.disk.cut(w.rng)
	w.each(w.nodes(), (*node).kill)
	w.temporal.kill()
	d.kill()
	d.disk.restore()
	if err := d.tryStart(w.t.Context()); err != nil {
		w.t.Logf("PostgreSQL doesn't start: %v", err)
	}
	w.temporal.launch(w.t)
	if err := retry(time.Minute, func() error { return w.pingTemporal(w.t.Context()) }); err != nil {
		w.t.Logf("Temporal doesn't start: %v", err)
	}
	return w.missing()
}
