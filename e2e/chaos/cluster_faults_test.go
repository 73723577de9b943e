package chaos

import (
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

var clusterFaults = clusterLosses()

func clusterLosses() []scenario {
	var c *cluster
	var network *packets
	var standby *postgres
	single := func(w *world) {
		memory, err := startPostgres(w.t.Context(), filepath.Join(w.t.TempDir(), "memory"), nil)
		require.NoError(w.t, err)
		w.t.Cleanup(memory.kill)
		c = temporalCluster(w, memory, nil)
	}
	return []scenario{
		{id: "F87", name: "cluster_loses_a_process_of_each_service", accepts: true, prepare: single, fault: func(w *world) {
			for _, i := range w.rng.Perm(len(clusterServices)) {
				machine := w.rng.IntN(len(c.machines))
				p := c.machines[machine][clusterServices[i]]
				p.kill()
				w.t.Logf("%s killed: starts go on after %s", p.name, c.awaitStarts(w.t, 1-machine))
				w.sleep(outage)
				p.launch(w.t)
				w.sleep(w.some(outage/2, outage))
			}
		}},
		// The machine is gone without a word: no connection is closed.
		{
			id: "F88", name: "cluster_loses_a_machine", accepts: true, twice: true,
			prepare: func(w *world) {
				network = filterPackets(w.t)
				single(w)
			},
			fault: func(w *world) {
				lost := w.rng.IntN(len(c.machines))
				address := machineAddresses[lost]
				network.obey("ip saddr "+address+" counter drop", "ip daddr "+address+" counter drop")
				for _, p := range c.machines[lost] {
					p.kill()
				}
				w.t.Logf("%s lost: starts go on after %s", address, c.awaitStarts(w.t, 1-lost))
				w.sleep(5 * outage)
				network.passAll()
				for _, p := range c.machines[lost] {
					p.launch(w.t)
				}
				w.sleep(2 * outage)
			},
		},
		{
			id: "F89", name: "clusters_database_fails_over", accepts: true, twice: true,
			prepare: func(w *world) {
				var memory *postgres
				memory, standby = replicatedDatabase(w.t, false)
				c = temporalCluster(w, memory, standby)
			},
			fault: func(w *world) {
				w.each(w.workers, (*node).freeze) // the events are in Temporal only
				w.load.awaitAccepted(time.Minute, warmUp)
				c.failOver(w, standby)
				w.each(w.workers, (*node).thaw)
				w.sleep(outage)
			},
		},
		// The control: the standby lacks the events that only Temporal has.
		{
			id: "F89", name: "clusters_database_fails_over_to_a_stale_standby",
			prepare: func(w *world) {
				var memory *postgres
				memory, standby = replicatedDatabase(w.t, true)
				c = temporalCluster(w, memory, standby)
			},
			fault: func(w *world) {
				w.each(w.workers, (*node).kill)
				standby.set(w.t, map[string]string{"primary_conninfo": "''"})
				w.load.awaitAccepted(time.Minute, warmUp)
				w.load.stop()
				c.failOver(w, standby)
			},
			loses: (*world).missing,
		},
	}
}

// failOver loses the primary of Temporal's database with its disk, and promotes the standby.
func (c *cluster) failOver(w *world, standby *postgres) {
	w.memory.kill()
	require.NoError(w.t, os.RemoveAll(filepath.Join(w.memory.options.Dir, "data")))
	w.sleep(w.some(time.Second, outage))
	standby.exec(w.t, "postgres", "SELECT pg_promote()")
	w.memory = standby
	w.t.Logf("promoted: starts go on after %s", c.awaitStarts(w.t, 1))
}
