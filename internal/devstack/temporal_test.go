package devstack

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"holdfast/internal/devstack/child"
)

func dial(t *testing.T, s interface {
	Address() string
	Namespace() string
}) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Address(), Namespace: s.Namespace()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func startRun(t *testing.T, c client.Client, id string, attributes ...temporal.SearchAttributeUpdate) {
	t.Helper()
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: "nobody", TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
	}, "Anything")
	require.NoError(t, err)
}

func runExists(ctx context.Context, c client.Client, id string) bool {
	_, err := c.DescribeWorkflow(ctx, id, "")
	return err == nil
}

// A killed dev server restarts automatically with its workflows; so does one that is stopped and started.
func TestTemporalKeepsWorkflowsInItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := TemporalOptions{Dir: dir, DBFile: filepath.Join(dir, "temporal.db")}
	first := startTemporal(t, opts)
	startRun(t, dial(t, first), "kept")
	killed := first.PID()
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))
	eventually(t, "the server is back", func() bool { return first.PID() != killed && first.Ping(t.Context()) == nil })
	require.True(t, runExists(t.Context(), dial(t, first), "kept"))
	require.NoError(t, first.Stop(t.Context()))

	opts.Port = first.Port()
	second := startTemporal(t, opts)
	require.Equal(t, first.Address(), second.Address())
	require.True(t, runExists(t.Context(), dial(t, second), "kept"))
}

// StartTemporal's promises hold when it returns, so nothing here waits.
func TestTemporalIsReadyWhenItHasStarted(t *testing.T) {
	t.Parallel()
	provider := temporal.NewSearchAttributeKeyKeyword("Provider")
	s := startTemporal(t, TemporalOptions{
		Dir: t.TempDir(), Namespace: "holdfast", SearchAttributes: map[string]string{"Provider": "Keyword"},
	})
	c := dial(t, s)
	startRun(t, c, "searchable", provider.ValueSet("stripe"))
	_, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: `Provider = "stripe"`})
	require.NoError(t, err)

	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: string(make([]byte, 256)), TaskQueue: "nobody"}, "Anything")
	require.Error(t, err, "an id that PostgreSQL's visibility store could not hold")

	described, err := c.WorkflowService().DescribeNamespace(t.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: "holdfast"})
	require.NoError(t, err)
	require.Equal(t, 72*time.Hour, described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
}

// A release with a new search attribute starts over an older release's database file.
func TestTemporalAddsSearchAttributesToAnOldFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := TemporalOptions{Dir: dir, DBFile: filepath.Join(dir, "temporal.db")}
	require.NoError(t, startTemporal(t, opts).Stop(t.Context()))

	opts.SearchAttributes = map[string]string{"EventType": "Keyword"}
	c := dial(t, startTemporal(t, opts))
	startRun(t, c, "new", temporal.NewSearchAttributeKeyKeyword("EventType").ValueSet("customer.updated"))
}

// The first start was killed while it created its schema.
func TestTemporalStartsOverAnIncompleteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "temporal.db")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	startRun(t, dial(t, startTemporal(t, TemporalOptions{Dir: dir, DBFile: file})), "any")
	require.FileExists(t, file+".incomplete")
}

func TestTemporalEndsALeftoverServer(t *testing.T) {
	t.Parallel()
	opts := TemporalOptions{Dir: t.TempDir()}
	first := startTemporal(t, opts)
	require.NoError(t, first.Stop(t.Context()))
	leftover := first.command()
	require.NoError(t, leftover.Start())
	ended := make(chan error, 1)
	go func() { ended <- leftover.Wait() }()
	require.NoError(t, writePID(first.pidFile(), leftover))
	eventually(t, "the leftover answers", func() bool { return first.Ping(t.Context()) == nil })

	opts.Port = first.Port()
	startTemporal(t, opts)
	require.NoError(t, <-ended, "it was asked to end, not killed")
}

func TestTemporalNamesWhoHasItsPort(t *testing.T) {
	t.Parallel()
	first := startTemporal(t, TemporalOptions{Dir: t.TempDir()})
	_, err := StartTemporal(t.Context(), TemporalOptions{
		Binary: temporalBinary(t), Dir: t.TempDir(), Port: first.Port(), Log: quiet,
	})
	var taken *child.PortInUseError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, first.PID(), taken.PID)
}

func TestTemporalThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := StartTemporal(t.Context(), TemporalOptions{
		Binary: temporalBinary(t), Dir: t.TempDir(), Log: quiet, DynamicConfig: map[string]string{"frontend.rps": "many"},
	})
	require.ErrorContains(t, err, "invalid dynamic config values")
}

// Who has a checkout builds it; who has a release takes it from there.
func TestFindTemporalNamesTheCommandThatGetsIt(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := FindTemporal(t.Context(), filepath.Join("..", "..", "nothing"))
	require.ErrorContains(t, err, "bin/temporal`")
	require.ErrorContains(t, err, "run `make -C /")
	_, err = FindTemporal(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "holdfast-dev_VERSION_"+runtime.GOOS)
	require.NotContains(t, err.Error(), "make")
}

// A release on the PATH is used if it is new enough, and `make run` builds none. Any other is ignored, and `make run` builds one.
func TestTheProgramOnThePathIsUsedIfItIsNewEnough(t *testing.T) {
	dir, built := t.TempDir(), t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(filepath.Join(built, "temporal"), nil, 0o755))
	for version, isUsed := range map[string]bool{
		"version 1.9.1": true, "version 1.9.1 (Server 1.32.0, UI 2.54.1)": true, "version 1.9.2 (Server 1.32.1)": true,
		"version 1.10.0": true, "version 2.0.0": true, "version 1.9.0": false, "version 0.9.9": false, "version 1.5.1": false,
		"version 1.10.0-rc.1 (Server 1.33.0)": false, "version 0.0.0-DEV": false, "development": false, "": false,
	} {
		script := "#!/bin/sh\necho 'temporal " + version + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal"), []byte(script), 0o755))
		want := built
		if isUsed {
			want = dir
		}
		got, err := FindTemporal(t.Context(), built)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(want, "temporal"), got, version)

		build := exec.Command("make", "--dry-run", "--always-make", "run")
		build.Dir = filepath.Join("..", "..")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, !isUsed, strings.Contains(string(out), "building bin/temporal "), "%s\n%s", version, out)
	}
}

// The Makefile builds the version that it says, and accepts the same ones on the PATH as FindTemporal.
func TestTheMakefileHasTheVersionsOfTemporal(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(content)
	}
	makefile := read("Makefile")
	require.Contains(t, makefile, fmt.Sprintf("TEMPORAL_OLDEST := %d.%d.%d\n", oldestTemporal[0], oldestTemporal[1], oldestTemporal[2]))
	_, built, _ := strings.Cut(makefile, "TEMPORAL_BUILT := ")
	built, _, _ = strings.Cut(built, "\n")
	require.Contains(t, read("tools/temporal/go.mod"), "github.com/temporalio/cli v"+built+" ")
}

// A request that is canceled between a query's first row and its return used to leave the query open, and SQLite went on
// interrupting every later one. It takes minutes of load to see that, so this looks at the version with the fix.
func TestTemporalHasASQLiteThatSurvivesCancellations(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(temporalBinary(t))
	require.NoError(t, err)
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "modernc.org/sqlite" })
	require.GreaterOrEqual(t, at, 0)
	var version [3]int
	_, err = fmt.Sscanf(info.Deps[at].Version, "v%d.%d.%d", &version[0], &version[1], &version[2])
	require.NoError(t, err)
	require.False(t, older(version, [3]int{1, 51, 0}), info.Deps[at].Version)
}
