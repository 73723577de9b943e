package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// before is how long a load runs before a fault.
const before = 3 * time.Second

// upgrade replaces the previous release's containers under load.
func upgrade(t *testing.T, p *project, r *report) {
	l := p.startLoad(t, "upgrade", 40*time.Second)
	pause(t, before)
	began := time.Now()
	p.tag = "dev"
	must(t, p.compose("up", "--detach", "--no-build"))
	p.awaitUp(t)
	took := time.Since(began)
	for name, c := range p.containers(t) {
		if name == "ingress" || name == "worker" || name == "operator" {
			require.Equal(t, "holdfast:dev", c.Config.Image, name)
		}
	}
	r.add(l.finish(t), took)
}

// killEach kills the main process of each container, as kill -9 does. Docker starts it again.
func killEach(t *testing.T, p *project, r *report) {
	for _, name := range []string{"postgres", "temporal", "temporal-ui", "ingress", "worker", "operator"} {
		l := p.startLoad(t, "kill "+name, 15*time.Second)
		pause(t, before)
		killed := p.containers(t)[name]
		began := time.Now()
		require.NoError(t, syscall.Kill(killed.State.Pid, syscall.SIGKILL))
		await(t, time.Minute, name+" to start again", func() bool {
			c := p.containers(t)[name]
			return c.State.Status == "running" && c.State.Pid != killed.State.Pid && c.RestartCount > killed.RestartCount
		})
		p.awaitUp(t)
		took := time.Since(began)
		r.add(l.finish(t), took)
	}
}

// restartEngine kills dockerd and containerd. Containers go on without them, until the next dockerd replaces them.
func restartEngine(t *testing.T, p *project, r *report) {
	l := p.startLoad(t, "kill the engine", 30*time.Second)
	pause(t, before)
	began := time.Now()
	p.engine.kill(t)
	p.engine.start(t)
	p.awaitUp(t)
	took := time.Since(began)
	r.add(l.finish(t), took)
}

// losePower kills the engine and everything that it has started, all at once.
func losePower(t *testing.T, p *project, r *report) {
	l := p.startLoad(t, "kill the engine and all containers", 30*time.Second)
	pause(t, before)
	running := p.containers(t)
	began := time.Now()
	p.engine.kill(t)
	for _, shim := range p.engine.shims(t) {
		require.NoError(t, syscall.Kill(shim, syscall.SIGKILL))
	}
	for name, c := range running {
		if c.State.Pid != 0 {
			require.NoError(t, syscall.Kill(c.State.Pid, syscall.SIGKILL), name)
		}
	}
	p.engine.start(t)
	p.awaitUp(t)
	took := time.Since(began)
	r.add(l.finish(t), took)
}

// shims returns the processes between containerd and the containers.
func (e *engine) shims(t *testing.T) (ids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range lines {
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), "containerd-shim") && strings.Contains(string(raw), e.runtime) {
			id, err := strconv.Atoi(strings.Split(path, "/")[2])
			require.NoError(t, err, path)
			ids = append(ids, id)
		}
	}
	require.NotEmpty(t, ids, "containers run below shims")
	return ids
}

// pause waits while a load runs.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// add records an outcome with the time from the fault until everything was up again.
func (r *report) add(o outcome, took time.Duration) {
	o.note = fmt.Sprintf("%.0f s", took.Seconds())
	r.outcomes = append(r.outcomes, o)
}
