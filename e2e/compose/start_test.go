package compose

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// change is one line of docker events.
type change struct {
	Action   string
	TimeNano int64
	Actor    struct{ Attributes map[string]string }
}

func (c change) at() time.Time   { return time.Unix(0, c.TimeNano) }
func (c change) service() string { return c.Actor.Attributes["com.docker.compose.service"] }

// follow records the engine's events until the returned function is called.
func (p *project) follow(t *testing.T) (stop func() []change) {
	t.Helper()
	var out bytes.Buffer
	command := p.engine.docker("events", "--filter", "type=container", "--format", "{{json .}}")
	command.Stdout = &out
	require.NoError(t, command.Start())
	return func() (changes []change) {
		_ = command.Process.Kill()
		_ = command.Wait()
		for line := range bytes.Lines(out.Bytes()) {
			var c change
			require.NoError(t, json.Unmarshal(line, &c))
			changes = append(changes, c)
		}
		return changes
	}
}

// start brings the whole project up with the previous release, checks the order of the starts, and sends a first load.
func start(t *testing.T, p *project, r *report) {
	stop := p.follow(t)
	began := time.Now()
	faulttest.Must(t, p.compose("up", "--detach", "--no-build"))
	p.awaitUp(t)
	took := time.Since(began)
	changes := stop()
	for name, s := range p.services(t) {
		started := first(t, changes, name, "start")
		for on, dependency := range s.DependsOn {
			action := map[string]string{"service_healthy": "health_status: healthy", "service_completed_successfully": "die"}[dependency.Condition]
			require.NotEmpty(t, action, dependency.Condition)
			ready := first(t, changes, on, action)
			require.True(t, ready.at().Before(started.at()), "%s started before %s was ready", name, on)
			if action == "die" {
				require.Equal(t, "0", ready.Actor.Attributes["exitCode"], on)
			}
			r.orders++
		}
		r.starts = append(r.starts, startTime{name, started.at().Sub(began)})
	}
	slices.SortFunc(r.starts, func(a, b startTime) int { return int(a.after - b.after) })
	r.up = took
	r.outcomes = append(r.outcomes, p.finish(t, p.startLoad(t, "previous release", 10*time.Second)))
}

// first returns the first event of a service that has an action.
func first(t *testing.T, changes []change, service, action string) change {
	t.Helper()
	i := slices.IndexFunc(changes, func(c change) bool { return c.service() == service && c.Action == action })
	require.GreaterOrEqual(t, i, 0, "%s: %s", service, action)
	return changes[i]
}
