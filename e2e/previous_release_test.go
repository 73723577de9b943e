package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/internal/devstack/program"
)

// previousRelease is the rollback target: a tag or, as long as there is none, the commit that completed the baseline of 0.9.0.
const previousRelease = "0a04cb704bfe9ead76c5385de8c476c9cad4a189"

// previousBuild compiles the previous release from the repository's history. It returns "" if the checkout doesn't have that
// commit.
var previousBuild = sync.OnceValues(func() (path string, err error) {
	git := func(args ...string) *exec.Cmd { return exec.Command("git", append([]string{"-C", root}, args...)...) }
	if git("cat-file", "-e", previousRelease+"^{commit}").Run() != nil {
		return "", nil
	}
	dir := filepath.Join(filepath.Dir(holdfast), "previous")
	sources, archive := filepath.Join(dir, "sources"), filepath.Join(dir, "sources.tar")
	if err := os.MkdirAll(sources, 0o755); err != nil {
		return "", err
	}
	for _, command := range []*exec.Cmd{
		git("archive", "--output", archive, previousRelease), exec.Command("tar", "-xf", archive, "-C", sources),
	} {
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	path = filepath.Join(dir, "holdfast")
	return path, program.Build(context.Background(), sources, path)
})

// buildPrevious returns the program of the previous release.
func buildPrevious(t *testing.T) (path string) {
	t.Helper()
	path, err := previousBuild()
	require.NoError(t, err)
	if path == "" {
		t.Skipf("NOTHING IS KNOWN of the previous release beside this schema: this checkout has no history with %s", previousRelease)
	}
	return path
}

// An installation of the previous release is upgraded while an event is being processed:
//   - its tables are migrated; an event and a dead letter that it has stored are found
//   - a worker of it is killed in the middle of an event, which a worker of this release completes, once
//   - the dead letter is replayed by this release, and a new event is processed
//   - the doctor finds nothing but the durability that the tests' PostgreSQL lacks
func TestThePreviousReleaseIsUpgraded(t *testing.T) {
	t.Parallel()
	previous := buildPrevious(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("json")), 0o644))
	i := installationOn(t, emptyDatabase(t), "HOLDFAST_PROVIDERS_DIR="+dir)
	migrate := exec.Command(previous, "migrate")
	migrate.Env = i.environment()
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, string(out))
	ingress := launchProgram(t, previous, "ingress", i.environment())
	worker := launchProgram(t, previous, "worker", i.environment())
	ingress.awaitReady(t)
	worker.awaitReady(t)
	require.Equal(t, "accepted", ingress.send(t, someEvent()).state())
	i.awaitCount(t, time.Minute, 1, processedEvents)
	died := i.sendPoison(t, ingress)
	i.awaitStatus(t, died, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	release := i.lock(t, "entities")
	open := uniqueID("evt")
	require.Equal(t, "accepted", ingress.send(t, customerUpdated(open, uniqueID("cus"), "Ada", time.Now())).state())
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM events WHERE status = 'persisted'")
	worker.kill()
	release()
	ingress.terminate(t)

	upgraded, err := i.run(t, "migrate")
	require.NoError(t, err, upgraded)
	require.NoError(t, os.WriteFile(file, []byte(definitionOf("text")), 0o644))
	n := i.start(t, "serve")
	i.awaitStatus(t, "stripe:"+open, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	replayed, err := i.run(t, "dlq", "replay", "--all", "--yes")
	require.NoError(t, err, replayed)
	i.awaitStatus(t, died, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Zero(t, i.count(t, openDeadLetters))
	require.Equal(t, "accepted", n.send(t, someEvent()).state())
	i.awaitCount(t, time.Minute, 4, processedEvents)
	require.Equal(t, 4, i.count(t, "SELECT count(*) FROM events"))
	i.awaitHealthy(t)
}

// The schema is this release's, and some or all processes are the previous one's:
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
	command := exec.Command(previous, "dlq", "replay", "--all", "--yes")
	command.Env = i.environment()
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	i.awaitCount(t, time.Minute, 2*processed, processedEvents)
	require.Zero(t, i.count(t, openDeadLetters))
}
