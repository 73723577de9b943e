package compose

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// secret signs the events of the load.
const secret = "whsec_compose_test_0123456789"

// project is the containers of docker-compose.yml.
type project struct {
	root    string
	engine  *engine
	environ map[string]string // what an operator writes to .env
	tag     string            // of Holdfast's image: previous or dev
	bench   string            // holdfast-bench of this release
	ledgers string
}

func newProject(t *testing.T, root string, e *engine) *project {
	t.Helper()
	p := &project{root: root, engine: e, tag: "previous", bench: root + "/bin/holdfast-bench", ledgers: t.TempDir()}
	require.NoError(t, os.Chmod(p.ledgers, 0o755))
	p.environ = map[string]string{
		"POSTGRES_PASSWORD": rand.Text(), "HOLDFAST_DB_PASSWORD": rand.Text(), "TEMPORAL_DB_PASSWORD": rand.Text(),
		"HOLDFAST_OPERATOR_TOKENS": "made later", "STRIPE_WEBHOOK_SECRET": secret,
	}
	faulttest.Must(t, p.compose("down", "--volumes", "--remove-orphans")) // of a run that was interrupted
	t.Cleanup(func() { faulttest.Must(t, p.compose("down", "--volumes")) })
	return p
}

// compose returns a command of Docker Compose for this release's file.
func (p *project) compose(args ...string) *exec.Cmd {
	if p.tag == "previous" && args[0] == "build" {
		return p.composeIn(p.root, "dev", args...)
	}
	return p.composeIn(p.root, p.tag, args...)
}

func (p *project) composeIn(sources, tag string, args ...string) *exec.Cmd {
	command := exec.Command(p.root+"/bin/docker-compose", args...)
	command.Dir = sources
	command.Env = append(os.Environ(), "DOCKER_HOST="+p.engine.host(), "HOLDFAST_TAG="+tag, "COMPOSE_BAKE=false")
	for name, value := range p.environ {
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

// newToken makes the entry of a token with the image, as deploy/env.example says.
func (p *project) newToken(t *testing.T) string {
	t.Helper()
	var made struct{ Entry string }
	raw := faulttest.Stdout(t, p.engine.docker("run", "--rm", "holdfast:dev", "token", "new", "compose", "admin", "--json"))
	require.NoError(t, json.Unmarshal([]byte(raw), &made), raw)
	return made.Entry
}

// container is the output of docker inspect.
type container struct {
	Name  string
	State struct {
		Status     string
		Pid        int
		ExitCode   int
		OOMKilled  bool
		StartedAt  time.Time
		FinishedAt time.Time
		Health     *struct{ Status string }
	}
	RestartCount    int
	NetworkSettings struct {
		Networks map[string]struct{ IPAddress string }
	}
	Config struct {
		StopTimeout *int
		Image       string
		Labels      map[string]string
	}
}

func (c container) service() string { return c.Config.Labels["com.docker.compose.service"] }

// up reports whether a service runs and is healthy, or a one-off container has succeeded.
func (c container) up() bool {
	if c.State.Status == "exited" {
		return c.State.ExitCode == 0 && oneOff[c.service()]
	}
	return c.State.Status == "running" && (c.State.Health == nil || c.State.Health.Status == "healthy")
}

var oneOff = map[string]bool{"migrate": true, "temporal-schema": true, "temporal-namespace": true}

// containers returns all containers of the project, by service.
func (p *project) containers(t *testing.T) map[string]container {
	t.Helper()
	ids := faulttest.Stdout(t, p.engine.docker("ps", "--all", "--quiet", "--filter", "label=com.docker.compose.project=holdfast",
		"--filter", "label=com.docker.compose.oneoff=False"))
	require.NotEmpty(t, ids, "the project has containers")
	var all []container
	raw := faulttest.Stdout(t, p.engine.docker(append([]string{"inspect"}, strings.Fields(ids)...)...))
	require.NoError(t, json.Unmarshal([]byte(raw), &all))
	byService := map[string]container{}
	for _, c := range all {
		byService[c.service()] = c
	}
	return byService
}

// awaitUp waits until the whole project is up and returns how long that took.
func (p *project) awaitUp(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	faulttest.Await(t, 5*time.Minute, "all containers to be up", func() bool {
		for _, c := range p.containers(t) {
			if !c.up() {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}
