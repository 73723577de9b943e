package e2e

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
	"holdfast/internal/devstack/temporalserver"
	"holdfast/migrations"
)

// The state shared by the tests. Each test has its own database and, through its provider keys, its own workflow IDs.
var (
	cluster  *stacktest.Cluster
	temporal sharedTemporal
	holdfast string // the binary under test
	root     string // of the repository
)

// serverVariable names a directory with a temporal-server and its temporal-sql-tool. The tests then use this server, with its data on
// the cluster, instead of the dev server.
const serverVariable = "HOLDFAST_TEMPORAL_SERVER"

// temporalServer is the dev server, or the server of serverVariable.
type temporalServer interface {
	Address() string
	Dir() string // of the files that it writes
}

// atOnce is the default number of parallel tests; -parallel overrides it. Most wait for processes rather than a core. With six, two
// cores had a load of 20, and in each of two whole runs three tests missed a deadline.
const atOnce = "4"

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
		return temporal.renew()
	})
	_ = os.RemoveAll(filepath.Dir(holdfast))
	os.Exit(code)
}

func startTemporal() (temporalServer, error) {
	bin := os.Getenv(serverVariable)
	if bin == "" {
		return stacktest.StartTemporal(stacktest.TemporalOptions{Durable: true, DynamicConfig: stacktest.Promptly, Own: true})
	}
	dir, err := stacktest.TempDir("temporal-server")
	if err != nil {
		return nil, err
	}
	stacktest.StopAtExit(func() { _ = os.RemoveAll(dir) })
	settings, err := os.ReadFile(filepath.Join(root, "deploy", "temporal", "dynamicconfig.yaml"))
	if err != nil {
		return nil, err
	}
	for key, value := range stacktest.Promptly {
		settings = fmt.Appendf(settings, "\n%s:\n  - value: %s\n", key, value)
	}
	path := filepath.Join(dir, "dynamicconfig.yaml")
	if err := os.WriteFile(path, settings, 0o600); err != nil {
		return nil, err
	}
	server, err := temporalserver.Start(context.Background(), temporalserver.Options{
		Bin: bin, Dir: dir, Store: cluster.URL("postgres"), Shards: 16, DynamicConfig: path, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	stacktest.StopAtExit(server.Kill)
	return server, nil
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
