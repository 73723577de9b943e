// Package deploy holds what it takes to run Holdfast for real; its tests check those files as far as that goes without
// a container engine.
package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

const (
	composeFile = "../docker-compose.yml"
	smallFile   = "compose.small.yml"
)

var (
	passwords = []string{"POSTGRES_PASSWORD", "HOLDFAST_DB_PASSWORD", "TEMPORAL_DB_PASSWORD"}
	roles     = []string{"ingress", "worker", "operator", "migrate"}
	// oneShots run to their end before others start.
	oneShots = []string{"migrate", "temporal-schema", "temporal-namespace"}
	// writable are the services whose root file system is not read-only; the reason stands in the file.
	writable = []string{"temporal-ui"}
	// watchers run only with the profile for monitoring.
	watchers = []string{"prometheus", "grafana"}
)

// observe is the profile of the watchers.
const observe = "observe"

// load reads the file and the files that override it, as `docker compose` does, with only the given environment.
func load(t *testing.T, environ map[string]string, over ...string) (*types.Project, error) {
	t.Helper()
	var vars []string
	for name, value := range environ {
		vars = append(vars, name+"="+value)
	}
	options, err := cli.NewProjectOptions(append([]string{composeFile}, over...), cli.WithEnv(vars), cli.WithResolvedPaths(true),
		cli.WithProfiles([]string{observe}))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

func filled() map[string]string {
	environ := map[string]string{}
	for _, name := range passwords {
		environ[name] = "p4ssw0rd" + strings.ToLower(name[:4])
	}
	environ["HOLDFAST_OPERATOR_TOKENS"] = "ada:admin:" + strings.Repeat("ab", 32)
	return environ
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := load(t, filled())
	require.NoError(t, err)
	require.NotEmpty(t, p.Services)
	return p
}

func eachService(t *testing.T, check func(*testing.T, types.ServiceConfig)) {
	t.Helper()
	for name, service := range project(t).Services {
		t.Run(name, func(t *testing.T) { check(t, service) })
	}
}

func TestThereAreNoDefaultPasswords(t *testing.T) {
	t.Parallel()
	for _, name := range passwords {
		environ := filled()
		delete(environ, name)
		_, err := load(t, environ)
		require.ErrorContains(t, err, "set "+name+" in .env")
		environ[name] = ""
		_, err = load(t, environ)
		require.ErrorContains(t, err, "set "+name+" in .env", "an empty one is none")
	}
}

func TestTheExampleNamesEveryVariableAndFillsInNoPassword(t *testing.T) {
	t.Parallel()
	example, err := dotenv.Read("env.example")
	require.NoError(t, err)
	source, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	for name, value := range example {
		require.Containsf(t, string(source), "${"+name, "%s is used", name)
		if slices.Contains(passwords, name) || strings.HasSuffix(name, "_SECRET") {
			require.Emptyf(t, value, "%s has no value", name)
		}
	}
	for part := range strings.SplitSeq(string(source), "${") {
		name, _, found := strings.Cut(part, "}")
		name, _, _ = strings.Cut(name, ":")
		if found && name == strings.ToUpper(name) && !strings.Contains(name, " ") {
			require.Containsf(t, example, name, "env.example names %s", name)
		}
	}
	_, err = load(t, example)
	require.Error(t, err, "as it is, it does not start")
}

func TestEveryContainerIsHardened(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		require.Equal(t, []string{"ALL"}, s.CapDrop)
		require.Empty(t, s.CapAdd)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true")
		require.False(t, s.Privileged)
		require.Equal(t, !slices.Contains(writable, s.Name), s.ReadOnly, "read_only")
		require.Positive(t, s.PidsLimit)
		require.NotEmpty(t, s.Logging.Options["max-size"], "logs are bounded")
		for _, v := range s.Volumes {
			require.NotContains(t, v.Source, "docker.sock")
			if v.Type == types.VolumeTypeBind {
				require.True(t, v.ReadOnly, v.Source)
				require.FileExists(t, firstFile(t, v.Source))
			}
		}
	})
}

// firstFile returns the path itself, or a file in it: a bind mount of a missing path becomes an empty directory.
func firstFile(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if !info.IsDir() {
		return path
	}
	var files []string
	for _, pattern := range []string{"*.sh", "*.yaml", "*.json", "*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	return files[0]
}

// Monitoring is optional, and no service waits for it.
func TestTheWatchersAreAProfile(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		require.Equal(t, slices.Contains(watchers, name), slices.Contains(s.Profiles, observe), name)
		for on := range s.DependsOn {
			require.False(t, slices.Contains(watchers, on) && !slices.Contains(watchers, name), "%s waits for %s", name, on)
		}
	}
	require.Contains(t, p.Services["prometheus"].Command, "--storage.tsdb.retention.time=400d")
	for name, at := range map[string]string{"prometheus": "/prometheus", "grafana": "/var/lib/grafana"} {
		require.True(t, slices.ContainsFunc(p.Services[name].Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Type == types.VolumeTypeVolume && v.Target == at
		}), "%s keeps what it knows", name)
	}
}

func TestImagesArePinnedByVersion(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		name, tag, ok := strings.Cut(s.Image, ":")
		require.True(t, ok, s.Image)
		require.NotEqual(t, "latest", tag)
		require.NotContains(t, name, "auto-setup", "deprecated")
		if s.Build == nil {
			require.Regexp(t, `^v?\d+\.\d+`, tag)
		}
	})
}

func TestOnlyTheIngressCanBePublished(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP)
		}
		if len(s.Ports) == 0 && s.Name != "worker" {
			require.Equal(t, []string{"backend"}, slices.Collect(maps.Keys(s.Networks)), "no way in, no way out")
		}
	})
	environ := filled()
	environ["INGRESS_BIND"] = "0.0.0.0"
	p, err := load(t, environ)
	require.NoError(t, err)
	for name, s := range p.Services {
		for _, port := range s.Ports {
			require.Equal(t, name == "ingress", port.HostIP == "0.0.0.0", name)
		}
	}
	require.True(t, p.Networks["backend"].Internal)
	require.Empty(t, p.Services["postgres"].Ports)
}

// The worker delivers and notifies, the operator tries subscriptions, and the ingress fetches certificates of senders: all of
// them connect to the internet, which an internal network can't reach.
func TestWhoSendsReachesTheWorld(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, role := range []string{"ingress", "worker", "operator"} {
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(p.Services[role].Networks)), func(network string) bool {
			return !p.Networks[network].Internal
		}), role)
	}
}

// The server's image asks for the container's address. On two networks it has two, and the server doesn't start.
func TestTemporalNamesItsAddress(t *testing.T) {
	t.Parallel()
	temporal := project(t).Services["temporal"]
	require.Greater(t, len(temporal.Networks), 1)
	require.NotNil(t, temporal.Environment["TEMPORAL_BROADCAST_ADDRESS"])
	require.Equal(t, "127.0.0.1", *temporal.Environment["TEMPORAL_BROADCAST_ADDRESS"], "all parts run in one container")
}

// gRPC looks up a server's settings, too. Docker 20.10 leaves that unanswered on an internal network, and clients time out.
func TestClientsOfTemporalLookUpItsAddressOnly(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		address := s.Environment["TEMPORAL_ADDRESS"]
		if address == nil || strings.HasPrefix(*address, "passthrough:///") {
			return
		}
		require.NotNil(t, s.Environment["GRPC_ENABLE_TXT_SERVICE_CONFIG"])
		require.Equal(t, "false", *s.Environment["GRPC_ENABLE_TXT_SERVICE_CONFIG"])
	})
}

func TestEveryContainerIsWatched(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		if slices.Contains(oneShots, s.Name) {
			require.Regexp(t, `^on-failure`, s.Restart)
			return
		}
		require.Equal(t, "always", s.Restart)
		if s.Name != "temporal-ui" { // nothing waits for it
			require.NotNil(t, s.HealthCheck)
			require.Equal(t, "CMD", s.HealthCheck.Test[0], "without a shell")
		}
	})
}

// A dependency waits for the right condition: for completion of a one-off container, for health of a service.
func TestDependenciesWaitForTheRightThing(t *testing.T) {
	t.Parallel()
	eachService(t, func(t *testing.T, s types.ServiceConfig) {
		for on, dependency := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if slices.Contains(oneShots, on) {
				want = types.ServiceConditionCompletedSuccessfully
			}
			require.Equal(t, want, dependency.Condition, on)
		}
	})
}

// The program starts with each role's environment, and its grace fits into the container's.
func TestTheRolesAreConfiguredAsTheProgramWants(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, role := range roles {
		s := p.Services[role]
		var environ []string
		for name, value := range s.Environment {
			require.NotNil(t, value, "%s has a value of its own, not this machine's", name)
			environ = append(environ, name+"="+*value)
		}
		cfg, err := config.LoadFrom(environ)
		require.NoError(t, err, role)
		require.NoError(t, cfg.RequireDatabase(), role)
		require.Equal(t, "temporal:7233", cfg.Temporal.Address)
		require.Equal(t, []string{role}, []string(s.Command))
		require.NotNil(t, s.StopGracePeriod, role)
		require.Greater(t, time.Duration(*s.StopGracePeriod), graces(cfg), role)
	}
}

// graces is how long a process takes to end at most: what it gives its work, and stopMargin of internal/process.
func graces(cfg config.Config) time.Duration {
	const stopMargin = 15 * time.Second
	return cfg.Ingress.DrainDelay + cfg.Ingress.ShutdownGrace + cfg.Worker.Grace + cfg.Deliveries.Grace + stopMargin
}

// The file for small machines only adds variables, which each role and Temporal take.
func TestTheSmallFileOnlyAddsVariables(t *testing.T) {
	t.Parallel()
	small, err := load(t, filled(), smallFile)
	require.NoError(t, err)
	p := project(t)
	require.ElementsMatch(t, slices.Collect(maps.Keys(p.Services)), slices.Collect(maps.Keys(small.Services)))
	for name, s := range small.Services {
		plain := p.Services[name]
		added := types.MappingWithEquals{}
		for variable, value := range s.Environment {
			if before, ok := plain.Environment[variable]; !ok || *before != *value {
				added[variable] = value
			}
		}
		require.Equal(t, slices.Contains([]string{"ingress", "worker", "operator", "temporal"}, name), len(added) > 0, name)
		s.Environment, plain.Environment = nil, nil
		require.Equal(t, plain, s)
		if name == "temporal" {
			require.Equal(t, "8", *added["NUM_HISTORY_SHARDS"])
			continue
		}
		var environ []string
		for variable, value := range added {
			environ = append(environ, variable+"="+*value)
		}
		_, err := config.LoadFrom(environ)
		require.NoError(t, err)
	}
}

func TestProviderSecretsReachOnlyTheIngress(t *testing.T) {
	t.Parallel()
	environ := filled()
	environ["STRIPE_WEBHOOK_SECRET"] = "whsec_canary"
	p, err := load(t, environ)
	require.NoError(t, err)
	for name, s := range p.Services {
		value, ok := s.Environment["STRIPE_WEBHOOK_SECRET"]
		require.Equal(t, name == "ingress", ok, name)
		if ok {
			require.Equal(t, "whsec_canary", *value)
		}
	}
}

func TestTheScriptsAreReadByAShell(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("temporal/*.sh")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		out, err := exec.Command("sh", "-n", script).CombinedOutput()
		require.NoErrorf(t, err, "%s: %s", script, out)
	}
}

func TestTheImageRunsWithoutRootAndShell(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	stages := strings.Split(string(source), "\nFROM ")
	last := stages[len(stages)-1]
	require.True(t, strings.HasPrefix(last, "gcr.io/distroless/static"), "no shell")
	require.Contains(t, last, "\nUSER nonroot:nonroot\n")
	require.Contains(t, last, `ENTRYPOINT ["/holdfast"]`)
	require.Contains(t, string(source), "CGO_ENABLED=0", "static")
	require.NotContains(t, string(source), ":latest")

	module, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := strings.Fields(strings.SplitAfter(string(module), "\ngo ")[1])[0]
	require.Contains(t, string(source), "FROM golang:"+strings.TrimSuffix(version, ".0"), "the Go of go.mod")
}
