package compose

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// debian is the image that all stand-ins start from.
const debian = "debian:bookworm-slim"

// builder builds the images: no registry is needed.
type builder struct {
	root    string
	project *project
}

// standIn replaces an image of a registry. Its Dockerfile is in testdata/images.
type standIn struct {
	dir, image, content string
	// files are copied into the build context, by name.
	files map[string]string
}

func (b *builder) standIns(t *testing.T) []standIn {
	t.Helper()
	server, ui := b.module(t, "server", "go.temporal.io/server"), b.module(t, "ui", "github.com/temporalio/ui-server/v2")
	prometheus, err := exec.LookPath("prometheus")
	require.NoError(t, err)
	busybox, err := exec.LookPath("busybox")
	require.NoError(t, err)
	bin := func(name string) string { return filepath.Join(b.root, "bin", name) }
	return []standIn{
		{dir: "distroless", image: "gcr.io/distroless/static-debian12:nonroot", content: "Debian's CA certificates and the user"},
		{dir: "golang", image: "golang:1.26.8-bookworm", content: "Debian 12 with this machine's " + runtime.Version() +
			" and the modules of both releases", files: map[string]string{"go": faulttest.Stdout(t, exec.Command("go", "env", "GOROOT"))}},
		{dir: "postgres", image: "postgres:17.6-bookworm", content: "PostgreSQL 15 of Debian 12, with a short entry point"},
		{dir: "temporal-server", image: "temporalio/server:1.32.1", content: "the server of `tools/server` on Debian 12, with its " +
			"own entry point", files: map[string]string{"temporal-server": bin("temporal-server"),
			"entrypoint.sh": server + "/docker/scripts/sh/entrypoint.sh"}},
		{dir: "admin-tools", image: "temporalio/admin-tools:1.32.1", content: "`temporal` of `tools/temporal` and " +
			"`temporal-sql-tool` of `tools/server` on Debian 12",
			files: map[string]string{"temporal": bin("temporal"), "temporal-sql-tool": bin("temporal-sql-tool")}},
		{dir: "ui", image: "temporalio/ui:2.49.1", content: "the UI server of `tools/ui` on Debian 12, with its own start script",
			files: map[string]string{"ui-server": bin("temporal-ui"), "docker.yaml": ui + "/config/docker.yaml",
				"start-ui-server.sh": ui + "/docker/start-ui-server.sh"}},
		{dir: "prometheus", image: "prom/prometheus:v3.5.0", content: "Prometheus of Debian 12 (" + packageVersion(t, "prometheus") + ")",
			files: map[string]string{"prometheus": prometheus, "busybox": busybox}},
	}
}

// packageVersion returns the installed version of a Debian package.
func packageVersion(t *testing.T, name string) string {
	t.Helper()
	return faulttest.Stdout(t, exec.Command("dpkg-query", "--show", "--showformat=${Version}", name))
}

// module returns the directory of a module that a tool is built from.
func (b *builder) module(t *testing.T, tool, path string) string {
	t.Helper()
	return faulttest.Stdout(t, exec.Command("go", "-C", filepath.Join(b.root, "tools", tool), "list", "-m", "-f", "{{.Dir}}", path))
}

func (b *builder) buildStandIns(t *testing.T) {
	t.Helper()
	if b.project.engine.docker("image", "inspect", debian).Run() != nil {
		b.importDebian(t)
	}
	for _, image := range b.standIns(t) {
		if image.dir == "golang" {
			image.files["modules"] = b.downloadModules(t)
		}
		b.build(t, image)
	}
}

// importDebian makes the image that the stand-ins start from.
func (b *builder) importDebian(t *testing.T) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "debian.tar")
	faulttest.WriteDebian(t, archive)
	faulttest.Must(t, b.project.engine.docker("import", archive, debian))
}

// downloadModules returns a directory that serves, as a GOPROXY, the modules of this release and the previous one.
func (b *builder) downloadModules(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	local := "file://" + faulttest.Stdout(t, exec.Command("go", "env", "GOMODCACHE")) + "/cache/download"
	for _, sources := range []string{b.root, faulttest.PreviousSources(t, b.root)} {
		command := exec.Command("go", "mod", "download")
		command.Dir = sources
		command.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw", "GOPROXY="+local+","+os.Getenv("GOPROXY"))
		faulttest.Must(t, command)
	}
	return filepath.Join(cache, "cache", "download")
}

func (b *builder) build(t *testing.T, image standIn) {
	t.Helper()
	args := []string{"--directory", filepath.Join(b.root, "e2e", "compose", "testdata", "images", image.dir), "."}
	context := t.TempDir()
	for name, path := range image.files {
		faulttest.Run(t, "cp", "--recursive", "--dereference", path, filepath.Join(context, name))
	}
	tar := exec.Command("tar", append([]string{"--create", "--mode=a+rX,u+w", "--directory", context, "."}, args...)...)
	pipe, err := tar.StdoutPipe()
	require.NoError(t, err)
	command := b.project.engine.docker("build", "--tag", image.image, "-")
	command.Env = append(command.Env, "DOCKER_BUILDKIT=0")
	command.Stdin = pipe
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, tar.Start())
	err = command.Run()
	_, _ = io.Copy(io.Discard, pipe)
	require.NoError(t, err, "%s: %s", image.image, out.String())
	require.NoError(t, tar.Wait())
}

// buildHoldfast builds the previous release's image from its own sources and Dockerfile, and this one's as an operator does.
func (b *builder) buildHoldfast(t *testing.T) {
	t.Helper()
	sources := faulttest.PreviousSources(t, b.root)
	path := sources + "/deploy/Dockerfile"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	// Its syntax line asks a registry for a frontend.
	raw = bytes.TrimPrefix(raw, []byte("# syntax=docker/dockerfile:1\n"))
	require.NoError(t, os.WriteFile(path, raw, 0o644))
	faulttest.Must(t, b.project.composeIn(sources, "previous", "build"))
	faulttest.Must(t, b.project.compose("build"))
}
