package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is left out by an edit of the source has to be found there, and what is left has to compile: all of it at once.
func TestWhatIsLeftOutIsInTheSource(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	var all []edit
	packages := []string{"build", "-overlay", ""}
	for _, l := range ablations {
		require.NotEqual(t, len(l.edits) > 0, len(l.environ) > 0, l.name)
		for _, e := range l.edits {
			all = append(all, e)
			packages = append(packages, "./"+filepath.Dir(e.file))
		}
	}
	packages[2], err = writeOverlay(root, t.TempDir(), all)
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), "go", packages...)
	command.Dir = root
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))

	_, err = writeOverlay(root, t.TempDir(), []edit{{startFile, "nothing of the kind", ""}})
	require.ErrorContains(t, err, "0 times")
}
