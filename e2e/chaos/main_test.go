package chaos

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
)

var (
	all    = flag.Bool("all", false, "run every scenario, not only the few that tell most")
	only   = flag.String("scenario", "", "run only the scenarios whose name matches this regular expression")
	seed   = flag.Uint64("seed", 0, "repeat the choices of an earlier run; 0: new ones")
	cuts   = flag.Int("cuts", 3, "how many power cuts a scenario has")
	report = flag.String("report", "", "write the table of results to this file, as markdown")
)

// The state shared by the scenarios. Each has its own database and namespace.
var (
	root     string // of the repository
	programs string // a directory for built programs
	holdfast string // the binary under test
	servers  *stack
)

func TestMain(m *testing.M) {
	stacktest.ExitIfShort()
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 32)
	}
	code := stacktest.Main(m, setUp)
	if servers != nil {
		servers.remove()
	}
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

func setUp() (err error) {
	if root, err = stacktest.RepositoryRoot(); err != nil {
		return err
	}
	if programs, err = os.MkdirTemp("", "holdfast-chaos-"); err != nil {
		return err
	}
	if holdfast, err = build("holdfast"); err != nil {
		return err
	}
	servers, err = startStack(context.Background())
	return err
}

// build compiles the binary, optionally with edits.
func build(name string, edits ...edit) (string, error) {
	path := filepath.Join(programs, name)
	return path, program.Build(context.Background(), root, path, edits...)
}
