package compose

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// before is how long a load runs before a fault.
const before = 3 * time.Second

// upgrade replaces the previous release's containers under load.
func upgrade(t *testing.T, p *project, r *report) {
	l := p.startLoad(t, "upgrade", 40*time.Second)
	faulttest.Pause(t, before)
	began := time.Now()
	p.tag = "dev"
	faulttest.Must(t, p.compose("up", "--detach", "--no-build"))
	p.awaitUp(t)
	took := time.Since(began)
	for name, c := range p.containers(t) {
		if name == "ingress" || name == "worker" || name == "operator" {
			require.Equal(t, "holdfast:dev", c.Config.Image, name)
		}
	}
	r.add(p.finish(t, l), took)
}

// killEach kills the main process of each container, as kill -9 does. Docker starts it again.
func killEach(t *testing.T, p *project, r *report) {
	for _, name := range []string{"postgres", "temporal", "temporal-ui", "ingress", "worker", "operator"} {
		l := p.startLoad(t, "kill "+name, 15*time.Second)
		faulttest.Pause(t, before)
		killed := p.containers(t)[name]
		began := time.Now()
		require.NoError(t, syscall.Kill(killed.State.Pid, syscall.SIGKILL))
		faulttest.Await(t, time.Minute, name+" to start again", func() bool {
			c := p.containers(t)[name]
			return c.State.Status == "running" && c.State.Pid != killed.State.Pid && c.RestartCount > killed.RestartCount
		})
		p.awaitUp(t)
		took := time.Since(began)
		r.add(p.finish(t, l), took)
	}
}

// restartEngine stops dockerd, which stops all containers, and starts it again.
func restartEngine(t *testing.T, p *project, r *report) {
	p.replaceEngine(t, r, "restart the engine", p.engine.stop)
}

// killEngine kills dockerd. Its containers go on without it; the next dockerd stops them and starts them again.
func killEngine(t *testing.T, p *project, r *report) {
	p.replaceEngine(t, r, "kill the engine", p.engine.kill)
}

// replaceEngine ends the engine under load and starts another one, which must start the project without Compose.
func (p *project) replaceEngine(t *testing.T, r *report, name string, end func(*testing.T)) {
	t.Helper()
	l := p.startLoad(t, name, 30*time.Second)
	faulttest.Pause(t, before)
	began := time.Now()
	end(t)
	p.engine.start(t)
	p.awaitUp(t)
	took := time.Since(began)
	r.add(p.finish(t, l), took)
}

// stopWithinGrace stops everything under load: no container may need to be killed. Then it starts everything again.
func stopWithinGrace(t *testing.T, p *project, r *report) {
	l := p.startLoad(t, "stop and start", 20*time.Second)
	faulttest.Pause(t, before)
	began := time.Now()
	stop := p.follow(t)
	faulttest.Must(t, p.compose("stop"))
	changes := stop()
	services := p.services(t)
	for name, c := range p.containers(t) {
		require.Equal(t, "exited", c.State.Status, name)
		if oneOff[name] {
			continue
		}
		require.NotEqual(t, 137, c.State.ExitCode, "%s was killed", name)
		require.False(t, c.State.OOMKilled, name)
		asked, ended := first(t, changes, name, "kill"), first(t, changes, name, "die")
		took, grace := ended.at().Sub(asked.at()), services[name].grace(t)
		require.Less(t, took, grace, name)
		r.stops = append(r.stops, stopTime{name, took, grace, c.State.ExitCode})
	}
	slices.SortFunc(r.stops, func(a, b stopTime) int { return strings.Compare(a.service, b.service) })
	faulttest.Must(t, p.compose("up", "--detach", "--no-build"))
	p.awaitUp(t)
	took := time.Since(began)
	r.add(p.finish(t, l), took)
}

// add records an outcome with the time from the fault until everything was up again.
func (r *report) add(o faulttest.Outcome, took time.Duration) {
	o.Note = fmt.Sprintf("%.0f s", took.Seconds())
	r.outcomes = append(r.outcomes, o)
}
