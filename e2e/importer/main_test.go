// Package importer tests the migration that docs/moving.md describes, for each of the old systems: its tables with rows in every
// status, the query that exports them, and the program from the outside, from the shadow phase to the day after the cut-over.
package importer

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

// The state shared by the tests. Each has its own databases and namespace.
var (
	cluster  *stacktest.Cluster // of Holdfast's databases, and of old ones
	temporal *stacktest.Temporal
	binary   string // the program under test
	root     string // of the repository
)

// atOnce is the default number of parallel tests; -parallel overrides it.
const atOnce = "3"

func TestMain(m *testing.M) {
	stacktest.ExitIfShort()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	code := stacktest.Main(m, setUp)
	_ = os.RemoveAll(filepath.Dir(binary))
	os.Exit(code)
}

func setUp() (err error) {
	if root, err = stacktest.RepositoryRoot(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-moving-")
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "holdfast")
	if err := program.Build(context.Background(), root, binary); err != nil {
		return err
	}
	if cluster, err = stacktest.StartCluster(); err != nil {
		return err
	}
	if err := cluster.Template(func(url string) error { return migrations.Up(context.Background(), url) }); err != nil {
		return err
	}
	temporal, err = stacktest.StartTemporal(stacktest.TemporalOptions{})
	return err
}
