package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMissingSourceSaysHowToGetIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := convoySource.check(dir)
	require.ErrorContains(t, err, "git clone https://github.com/frain-dev/convoy "+filepath.Join(dir, "convoy"))
	require.ErrorContains(t, err, convoySource.commit)
}

func TestAPlainFolderIsCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "convoy", "go.mod"), "module x\n")
	version, err := convoySource.copyTo(t.Context(), dir, filepath.Join(dir, "copy"))
	require.NoError(t, err)
	require.Equal(t, "a folder", version)
	require.FileExists(t, filepath.Join(dir, "copy", "go.mod"))
}

// The files come from the commit, whatever is checked out.
func TestACommitIsExtracted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := filepath.Join(dir, "thing")
	write(t, filepath.Join(from, "main.go"), "then")
	write(t, filepath.Join(from, "examples", "large"), "x")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}} {
		out, err := git(t.Context(), from, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	head, err := exec.CommandContext(t.Context(), "git", "-C", from, "rev-parse", "HEAD").Output()
	require.NoError(t, err)
	write(t, filepath.Join(from, "main.go"), "now")
	s := source{"thing", "https://example.com/thing", strings.TrimSpace(string(head))}

	version, err := s.copyTo(t.Context(), dir, filepath.Join(dir, "copy"))
	require.NoError(t, err)
	require.Equal(t, s.commit[:8], version)
	got, err := os.ReadFile(filepath.Join(dir, "copy", "main.go"))
	require.NoError(t, err)
	require.Equal(t, "then", string(got))
	require.NoDirExists(t, filepath.Join(dir, "copy", "examples"))

	s.commit = strings.Repeat("0", 40)
	_, err = s.copyTo(t.Context(), dir, filepath.Join(dir, "copy"))
	require.ErrorContains(t, err, "has no commit "+s.commit)
}

func TestABuildThatLacksAModuleSaysWhereItIs(t *testing.T) {
	t.Parallel()
	require.Contains(t, hintFor([]byte("github.com/jirevwe/gopartman@v0.2.0: 403 Forbidden")), "git clone https://github.com/jirevwe/gopartman")
	require.Empty(t, hintFor([]byte("syntax error")))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
