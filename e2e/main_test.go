package e2e

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
	"holdfast/migrations"
)

// The state shared by the tests. Each test has its own database and, through its provider keys, its own workflow IDs.
var (
	cluster  *stacktest.Cluster
	temporal *stacktest.Temporal
	holdfast string // the binary under test
	root     string // of the repository
)

// atOnce is the default number of parallel tests; -parallel overrides it. Most wait for processes rather than a core. With six,
// the shared Temporal is too slow for some of them.
const atOnce = "3"

func TestMain(m *testing.M) {
	stacktest.ExitIfShort()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	code := stacktest.Main(m, func() (err error) {
		if root, err = stacktest.RepositoryRoot(); err != nil {
			return err
		}
		if holdfast, err = build(); err != nil {
			return err
		}
		if cluster, err = stacktest.StartCluster(); err != nil {
			return err
		}
		if err = cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) }); err != nil {
			return err
		}
		temporal, err = stacktest.StartTemporal(stacktest.TemporalOptions{
			Durable: true,
			// A run is deleted once its other tasks are recorded as done, which by default is checked every 30 s. A history counts as
			// long from 4,096 events on, which would take a test minutes.
			DynamicConfig: map[string]string{
				"limit.historyCount.suggestContinueAsNew":      "256",
				"history.transferProcessorUpdateAckInterval":   `"500ms"`,
				"history.visibilityProcessorUpdateAckInterval": `"500ms"`,
			},
		})
		return err
	})
	_ = os.RemoveAll(filepath.Dir(holdfast))
	os.Exit(code)
}

// build compiles the binary that all tests run. `holdfast dev` looks for the temporal program next to itself.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-e2e-")
	if err != nil {
		return "", err
	}
	temporalProgram, err := stacktest.TemporalBinary()
	if err != nil {
		return "", err
	}
	if err := os.Symlink(temporalProgram, filepath.Join(dir, "temporal")); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "holdfast")
	return path, program.Build(context.Background(), root, path)
}
