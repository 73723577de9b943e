package openapi

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root     = "../.."
	document = root + "/operator/openapi.json"
)

var update = flag.Bool("update", false, "write the generated clients")

func TestTheGoClientIsCurrent(t *testing.T) {
	t.Parallel()
	requireCurrent(t, root+"/client/operator/client.gen.go", func(path string) *exec.Cmd {
		return exec.Command("go", "tool", "oapi-codegen", "-config", "go-client.yaml", "-o", path, document)
	})
}

func TestTheTypeScriptTypesAreCurrent(t *testing.T) {
	t.Parallel()
	generator := root + "/client/typescript/node_modules/.bin/openapi-typescript"
	if _, err := os.Stat(generator); err != nil {
		const install = "install Node.js and npm (apt-get install npm), then `make clients`"
		if os.Getenv("NO_SKIP") == "" {
			t.Skipf("openapi-typescript is not on this machine: %s", install)
		}
		require.NoError(t, err, install)
	}
	requireCurrent(t, root+"/client/typescript/src/openapi.ts", func(path string) *exec.Cmd {
		return exec.Command(generator, document, "--output", path)
	})
}

// requireCurrent compares a file with what its generator writes to a path, or updates the file.
func requireCurrent(t *testing.T, file string, generator func(path string) *exec.Cmd) {
	t.Helper()
	path := file
	if !*update {
		path = filepath.Join(t.TempDir(), filepath.Base(file))
	}
	out, err := generator(path).CombinedOutput()
	require.NoError(t, err, string(out))
	if *update {
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	// Their difference would fill the screen.
	require.True(t, bytes.Equal(want, got), "%s isn't what its generator makes of operator/openapi.json: make generate-clients", file)
}
