package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"

	"holdfast/internal/buildinfo"
)

// The same sources in two folders, with other times and permissions of their files, give the same bytes. `make release-check`
// shows it for the programs, which take minutes to compile.
func TestArtifactsDependOnlyOnTheSources(t *testing.T) {
	t.Parallel()
	sums := map[string]bool{}
	for _, mode := range []os.FileMode{0o600, 0o755} {
		dir, out := t.TempDir(), t.TempDir()
		copied, err := exec.Command("cp", "-r", root+"/deploy", root+"/LICENSE", root+"/CHANGELOG.md", dir).CombinedOutput()
		require.NoError(t, err, string(copied))
		binary := filepath.Join(dir, "holdfast")
		require.NoError(t, os.WriteFile(binary, []byte("program"), mode))
		s := source{root: dir, revision: "649160d", time: time.Unix(1e9, 0).UTC()}
		share := shareForTests(t, mode)
		require.NoError(t, s.archive(binary, share, filepath.Join(out, "archive.tar.gz")))
		require.NoError(t, s.benchArchive(binary, filepath.Join(out, "bench.tar.gz")))
		server := temporal{binary, filepath.Join(dir, "LICENSE")}
		require.NoError(t, s.devArchive(binary, share, server, filepath.Join(out, "dev.tar.gz")))
		require.NoError(t, s.image(binary, platforms[0], filepath.Join(out, "image.tar")))
		require.NoError(t, s.debian(buildinfo.Version, binary, share, "amd64", filepath.Join(out, "package.deb")))
		require.NoError(t, writeSums(out))
		text, err := os.ReadFile(filepath.Join(out, sumsFile))
		require.NoError(t, err)
		require.Regexp(t, `^[0-9a-f]{64}  archive.tar.gz\n[0-9a-f]{64}  bench.tar.gz\n[0-9a-f]{64}  dev.tar.gz\n[0-9a-f]{64}  image.tar\n`+
			`[0-9a-f]{64}  package.deb\n$`, string(text))
		sums[string(text)] = true
	}
	require.Len(t, sums, 1)
}

// shareForTests returns a folder like the one that manual writes.
func shareForTests(t *testing.T, mode os.FileMode) string {
	t.Helper()
	share := t.TempDir()
	for _, name := range []string{"man/man1/holdfast.1.gz", "zsh/site-functions/_holdfast", "bash-completion/completions/holdfast"} {
		path := filepath.Join(share, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(name), mode))
	}
	return share
}

// The image has the user, the start command and the health check of deploy/Dockerfile, and certificates.
func TestTheImageMatchesTheDockerfile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "image.tar")
	s := source{root: root, revision: "649160d", time: time.Unix(1e9, 0).UTC()}
	require.NoError(t, s.image(os.Args[0], platform{"linux", "arm64"}, path))
	image, err := tarball.ImageFromPath(path, nil)
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "arm64", file.Architecture)
	require.Equal(t, "65532:65532", file.Config.User)
	dockerfile, err := os.ReadFile(root + "/deploy/Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(dockerfile), "USER nonroot:nonroot\n")
	require.Contains(t, string(dockerfile), `ENTRYPOINT ["`+file.Config.Entrypoint[0]+`"]`+"\nCMD [\""+file.Config.Cmd[0]+"\"]\n")
	require.Contains(t, string(dockerfile),
		"--interval=10s --timeout=6s --start-period=30s --retries=3 CMD [\"/holdfast\", \"health\"]\n")
	require.Equal(t, buildinfo.Version, file.Config.Labels["org.opencontainers.image.version"])
	layers, err := image.Layers()
	require.NoError(t, err)
	content, err := layers[0].Uncompressed()
	require.NoError(t, err)
	names := namesIn(t, content)
	require.Greater(t, names["etc/ssl/certs/ca-certificates.crt"], int64(100_000))
	require.Contains(t, names, "tmp/")
}

func TestTheChartIsPackedAsHelmDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chart.tgz")
	require.NoError(t, checkout(t).chart(t.Context(), path))
	names := archived(t, path)
	for _, name := range []string{"Chart.yaml", "values.yaml", "templates/deployments.yaml", "files/overview.json"} {
		require.Contains(t, names, "holdfast/"+name)
	}
}

// namesIn returns the size of each file in a tar archive.
func namesIn(t *testing.T, r io.Reader) map[string]int64 {
	t.Helper()
	names := map[string]int64{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names[header.Name] = header.Size
	}
}

func TestAReleaseNeedsACommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(arguments ...string) {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"},
			arguments...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "--quiet")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	git("add", "file")
	git("commit", "--quiet", "--message", "first", "--date", "2001-09-09T01:46:40Z")
	s, err := readSource(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, s.revision, 40)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o644))
	_, err = readSource(t.Context(), dir)
	require.ErrorContains(t, err, "?? other")
}
