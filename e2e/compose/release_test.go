package compose

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// loadRelease builds a release of the last commit for this platform, loads its image, and compares what it prints with the program in
// the archive of the same release.
func loadRelease(t *testing.T, p *project, r *report) {
	clone, out, unpacked := filepath.Join(t.TempDir(), "clone"), filepath.Join(t.TempDir(), "dist"), t.TempDir()
	faulttest.Run(t, "git", "clone", "--quiet", p.root, clone)
	faulttest.Run(t, "go", "run", "-C", filepath.Join(clone, "tools", "release"), ".", "--out", out, "--platform", "linux/amd64")
	loaded := faulttest.Stdout(t, p.engine.docker("load", "--quiet", "--input", only(t, out+"/holdfast_*_linux_amd64_image.tar")))
	_, image, _ := strings.Cut(loaded, "Loaded image: ") // after a line about the image of an earlier run, if there is one
	printed := faulttest.Stdout(t, p.engine.docker("run", "--rm", image, "version"))
	faulttest.Run(t, "tar", "--extract", "--gzip", "--directory", unpacked, "--file", only(t, out+"/holdfast_*_linux_amd64.tar.gz"))
	require.Equal(t, faulttest.Stdout(t, exec.Command(filepath.Join(unpacked, "holdfast"), "version")), printed)
	require.Contains(t, printed, faulttest.Stdout(t, exec.Command("git", "-C", p.root, "rev-parse", "HEAD")))
	r.released, r.printed = image, printed
}

// only returns the one file that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, files, 1, pattern)
	return files[0]
}
