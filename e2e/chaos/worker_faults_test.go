package chaos

import (
	"fmt"
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

var workerFaults = []scenario{
	{id: "F05", name: "workers_killed", fault: func(w *world) {
		for _, n := range w.workers {
			n.kill()
		}
		w.sleep(outage)
		for _, n := range w.workers {
			n.start(w.t)
		}
	}},
	{id: "F28", name: "worker_dies_after_the_commit", code: crashing, twice: true, fault: func(w *world) {
		w.runVariant(crashing)
		w.sleep(2 * outage)
		w.runVariant(nil)
	}},
	{id: "F28", name: "completion_never_arrives", fault: func(w *world) {
		for range 3 {
			w.workerTemporal.blackHole(w.t, up) // steps in progress commit, but their results are lost
			w.sleep(1500 * time.Millisecond)
			for _, n := range w.workers {
				n.kill()
			}
			w.workerTemporal.heal(w.t)
			for _, n := range w.workers {
				n.start(w.t)
			}
			w.sleep(w.some(500*time.Millisecond, 2*time.Second))
		}
	}},
	{id: "F29", name: "workers_killed_again_and_again", fault: func(w *world) {
		for i := range 20 {
			w.workers[i%2].crash()
			w.sleep(w.some(300*time.Millisecond, 1500*time.Millisecond))
		}
	}},
	{id: "F30", name: "worker_frozen_and_back_as_a_zombie", fault: func(w *world) {
		release := w.lock("entities", "EXCLUSIVE") // so that a step is in progress
		w.sleep(time.Second)
		w.workers[0].freeze()
		release()
		w.sleep(15 * time.Second) // longer than a workflow task, so that the other worker takes over
		w.workers[0].thaw()
		w.sleep(time.Second)
	}},
	{id: "F31", name: "changed_workflow_rolled_out", code: nextRelease, fault: func(w *world) {
		release := w.lock("entities", "EXCLUSIVE") // so that many runs are open
		w.sleep(4 * time.Second)
		w.rollTo(nextRelease.build(w.t), w.workers[:1])
		release()
		w.sleep(2 * time.Second)
		w.rollTo(nextRelease.build(w.t), w.workers[1:])
		w.sleep(2 * time.Second)
	}},
	{id: "F32", name: "changed_workflow_rolled_back_and_forth", code: nextRelease, mixed: true, fault: func(w *world) {
		w.rollTo(nextRelease.build(w.t), w.workers)
		release := w.lock("entities", "EXCLUSIVE")
		w.sleep(4 * time.Second)
		w.rollTo("", w.workers)
		release()
		w.sleep(4 * time.Second)
		w.rollTo(nextRelease.build(w.t), w.workers) // runs that the new release has begun are finished by it
	}},
	{id: "F33", name: "rolling_restarts", fault: rollingRestarts},
	{id: "F34", name: "processor_taken_away", fault: func(w *world) {
		undo := w.starve(w.workers[0], w.ingresses[0])
		w.sleep(outage)
		undo()
	}},
	{id: "F36", name: "steps_panic", code: panicking, fault: func(w *world) {
		w.runVariant(panicking)
		w.sleep(outage)
		w.runVariant(nil)
	}},
}

// runVariant replaces all workers at once by a variant; nil means the normal ones.
func (w *world) runVariant(v *variant) {
	path := ""
	if v != nil {
		path = v.build(w.t)
	}
	for _, n := range w.workers {
		n.kill()
		n.binary = path
	}
	for _, n := range w.workers {
		n.launch(w.t)
	}
}

// rollTo restarts processes in order, one after the other, with this program.
func (w *world) rollTo(binary string, nodes []*node) {
	for _, n := range nodes {
		n.terminate(w.t)
		n.binary = binary
		n.start(w.t)
	}
}

// rollingRestarts restarts every process in order while senders continue. No request is answered with 5xx; senders retry
// refused connections.
func rollingRestarts(w *world) {
	began := time.Now()
	for range 2 {
		w.rollTo("", w.ingresses)
		w.rollTo("", w.workers)
	}
	_, unavailable, _, _ := w.load.between(began, time.Now())
	require.Zero(w.t, unavailable, "requests were answered with 5xx because of a stop")
	require.LessOrEqual(w.t, w.load.cut(began), 2, "requests got no answer although they were not refused")
}

// starve limits processes to a twentieth of a processor.
func (w *world) starve(nodes ...*node) (undo func()) {
	group := "/sys/fs/cgroup/cpu/" + w.name
	if err := os.Mkdir(group, 0o755); err != nil {
		w.t.Skipf("this needs root and control groups of version 1: %v", err)
	}
	require.NoError(w.t, os.WriteFile(group+"/cpu.cfs_quota_us", []byte("5000"), 0o644))
	move := func(group string) {
		for _, n := range nodes {
			if err := os.WriteFile(group+"/cgroup.procs", []byte(fmt.Sprint(n.pid())), 0o644); err != nil {
				w.t.Error(err)
			}
		}
	}
	move(group)
	undo = func() {
		move("/sys/fs/cgroup/cpu")
		_ = os.Remove(group)
	}
	return undo
}
