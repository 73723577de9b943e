package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/internal/devstack/program"
)

// previousRelease is the rollback target: a tag or, as long as there is none, the last commit on main before this schema.
const previousRelease = "8ca09bef6447ca6db84df83c607503f8248d029c"

// buildPrevious compiles the previous release from the repository's history.
func buildPrevious(t *testing.T) (path string) {
	t.Helper()
	git := func(args ...string) *exec.Cmd { return exec.Command("git", append([]string{"-C", root}, args...)...) }
	if err := git("cat-file", "-e", previousRelease+"^{commit}").Run(); err != nil {
		t.Skipf("NOTHING IS KNOWN of the previous release beside this schema: this checkout has no history with %s", previousRelease)
	}
	sources := t.TempDir()
	archive := filepath.Join(t.TempDir(), "sources.tar")
	out, err := git("archive", "--output", archive, previousRelease).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command("tar", "-xf", archive, "-C", sources).CombinedOutput()
	require.NoError(t, err, string(out))
	path = filepath.Join(t.TempDir(), "holdfast")
	require.NoError(t, program.Build(t.Context(), sources, path))
	return path
}

// The schema is that of this release, and some or all processes are of the previous one:
//   - each event is accepted and processed, whichever release receives it and whichever processes it
//   - a dead letter is replayed by the tools of the previous one
func TestThePreviousReleaseWorksBesideTheNewSchema(t *testing.T) {
	t.Parallel()
	previous := buildPrevious(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	processed := 0
	for _, pair := range []struct{ ingress, worker string }{{previous, previous}, {holdfast, previous}, {previous, holdfast}} {
		ingress := launchProgram(t, pair.ingress, "ingress", i.environment())
		worker := launchProgram(t, pair.worker, "worker", i.environment())
		ingress.awaitReady(t)
		worker.awaitReady(t)
		a := ingress.send(t, someEvent())
		require.Equal(t, "accepted", a.state(), string(a.body))
		processed++
		i.awaitCount(t, time.Minute, processed, processedEvents)
		died := i.sendPoison(t, ingress)
		i.awaitStatus(t, died, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
		ingress.terminate(t)
		worker.terminate(t)
	}
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	launchProgram(t, previous, "worker", i.environment()).awaitReady(t)
	command := exec.Command(previous, "dlq", "redrive", "--all", "--yes")
	command.Env = i.environment()
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	i.awaitCount(t, time.Minute, 2*processed, processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
}
