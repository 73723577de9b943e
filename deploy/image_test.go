package deploy

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The image is built from what .dockerignore lets through: every directory of the module that the binary needs.
func TestTheImageHasTheSourcesThatItNeeds(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("Dockerfile.dockerignore")
	require.NoError(t, err)
	let := strings.Split(string(raw), "\n")
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/holdfast")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(out)) {
		if path, ours := strings.CutPrefix(strings.TrimSpace(name), "holdfast/"); ours {
			top, _, _ := strings.Cut(path, "/")
			require.Contains(t, let, "!"+top, path)
		}
	}
}
