package main

import (
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func checkout(t *testing.T) source {
	t.Helper()
	absolute, err := filepath.Abs(root)
	require.NoError(t, err)
	return source{root: absolute, time: time.Unix(1e9, 0)}
}

// archived returns the size of each file in a compressed archive.
func archived(t *testing.T, path string) map[string]int64 {
	t.Helper()
	packed, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	content, err := gzip.NewReader(packed)
	require.NoError(t, err)
	return namesIn(t, content)
}

func TestTheGoClientIsPackedAsAModule(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "client.tar.gz")
	require.NoError(t, checkout(t).goClient(t.Context(), path))
	names := archived(t, path)
	for _, name := range []string{"go.mod", "go.sum", "publisher.go", "operator/client.gen.go", "README.md", "LICENSE"} {
		require.Contains(t, names, "holdfast-client-go/"+name)
	}
	require.NotContains(t, names, "holdfast-client-go/typescript/package.json")
}

// The package that is compiled twice has the same bytes, and can be installed without its sources.
func TestTheTypeScriptClientIsPackedForNPM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("NO_SKIP") == "" {
			t.Skip("npm is not on this machine (apt-get install npm)")
		}
		require.NoError(t, err)
	}
	first, second := filepath.Join(t.TempDir(), "client.tgz"), filepath.Join(t.TempDir(), "client.tgz")
	require.NoError(t, checkout(t).typescriptClient(t.Context(), t.TempDir(), first))
	require.NoError(t, checkout(t).typescriptClient(t.Context(), t.TempDir(), second))
	sum, err := sumOf(first)
	require.NoError(t, err)
	again, err := sumOf(second)
	require.NoError(t, err)
	require.Equal(t, sum, again)
	names := archived(t, first)
	for _, name := range []string{"package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/openapi.d.ts"} {
		require.Contains(t, names, "package/"+name)
	}
	user := t.TempDir()
	for _, line := range [][]string{
		{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", first},
		{"node", "--input-type=module", "--eval", "import 'holdfast-client'; import 'holdfast-client/operator'"},
	} {
		command := exec.Command(line[0], line[1:]...)
		command.Dir = user
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}
