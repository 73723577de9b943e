package compose

import (
	"fmt"
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

// add records an outcome with the time from the fault until everything was up again.
func (r *report) add(o faulttest.Outcome, took time.Duration) {
	o.Note = fmt.Sprintf("%.0f s", took.Seconds())
	r.outcomes = append(r.outcomes, o)
}
