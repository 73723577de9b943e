package faulttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// PreviousRelease returns the commit that package e2e names, whose tests also upgrade from it.
func PreviousRelease(t *testing.T, root string) string {
	t.Helper()
	raw, err := os.ReadFile(root + "/e2e/previous_release_test.go")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(raw), `const previousRelease = "`)
	require.True(t, found)
	commit, _, _ := strings.Cut(after, `"`)
	return commit
}

// PreviousSources extracts the sources of the previous release and returns their directory.
func PreviousSources(t *testing.T, root string) string {
	t.Helper()
	sources := filepath.Join(t.TempDir(), "previous")
	require.NoError(t, os.Mkdir(sources, 0o755))
	archive := exec.Command("git", "-C", root, "archive", PreviousRelease(t, root))
	tar := exec.Command("tar", "-x", "-C", sources)
	pipe, err := archive.StdoutPipe()
	require.NoError(t, err)
	tar.Stdin = pipe
	require.NoError(t, archive.Start())
	Must(t, tar)
	require.NoError(t, archive.Wait())
	return sources
}

// Commit returns a name of the checkout's commit, which ends in -dirty if files differ from it.
func Commit(t *testing.T, root string) string {
	t.Helper()
	return Stdout(t, exec.Command("git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12"))
}
