package compose

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
			" and the modules of both releases", files: map[string]string{"go": stdout(t, exec.Command("go", "env", "GOROOT"))}},
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
	return stdout(t, exec.Command("dpkg-query", "--show", "--showformat=${Version}", name))
}

// module returns the directory of a module that a tool is built from.
func (b *builder) module(t *testing.T, tool, path string) string {
	t.Helper()
	return stdout(t, exec.Command("go", "-C", filepath.Join(b.root, "tools", tool), "list", "-m", "-f", "{{.Dir}}", path))
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

// importDebian makes a Debian 12 with the packages that the stand-ins need. No service may start while they are installed.
func (b *builder) importDebian(t *testing.T) {
	t.Helper()
	system := filepath.Join(t.TempDir(), "debian")
	run(t, "debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", system, "http://deb.debian.org/debian")
	policy := system + "/usr/sbin/policy-rc.d"
	require.NoError(t, os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755))
	require.NoError(t, os.MkdirAll(system+"/etc/postgresql-common", 0o755))
	settings := system + "/etc/postgresql-common/createcluster.conf"
	require.NoError(t, os.WriteFile(settings, []byte("create_main_cluster = false\n"), 0o644))
	install := exec.Command("chroot", system, "apt-get", "install", "--yes", "--no-install-recommends", "postgresql-15", "netcat-openbsd")
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	must(t, install)
	tar := exec.Command("tar", "-C", system, "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists", "-c", ".")
	pipe, err := tar.StdoutPipe()
	require.NoError(t, err)
	load := b.project.engine.docker("import", "-", debian)
	load.Stdin = pipe
	require.NoError(t, tar.Start())
	must(t, load)
	require.NoError(t, tar.Wait())
}

// downloadModules returns a directory that serves, as a GOPROXY, the modules of this release and the previous one.
func (b *builder) downloadModules(t *testing.T) string {
	t.Helper()
	cache := t.TempDir()
	local := "file://" + stdout(t, exec.Command("go", "env", "GOMODCACHE")) + "/cache/download"
	for _, sources := range []string{b.root, b.previous(t)} {
		command := exec.Command("go", "mod", "download")
		command.Dir = sources
		command.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw", "GOPROXY="+local+","+os.Getenv("GOPROXY"))
		must(t, command)
	}
	return filepath.Join(cache, "cache", "download")
}

func (b *builder) build(t *testing.T, image standIn) {
	t.Helper()
	args := []string{"--directory", filepath.Join(b.root, "e2e", "compose", "testdata", "images", image.dir), "."}
	context := t.TempDir()
	for name, path := range image.files {
		run(t, "cp", "--recursive", "--dereference", path, filepath.Join(context, name))
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

// previous extracts the sources of the previous release, which e2e names.
func (b *builder) previous(t *testing.T) string {
	t.Helper()
	sources := filepath.Join(t.TempDir(), "previous")
	require.NoError(t, os.Mkdir(sources, 0o755))
	archive := exec.Command("git", "-C", b.root, "archive", previousRelease(t, b.root))
	tar := exec.Command("tar", "-x", "-C", sources)
	pipe, err := archive.StdoutPipe()
	require.NoError(t, err)
	tar.Stdin = pipe
	require.NoError(t, archive.Start())
	must(t, tar)
	require.NoError(t, archive.Wait())
	return sources
}

// previousRelease reads the constant of package e2e, whose tests also upgrade from it.
func previousRelease(t *testing.T, root string) string {
	t.Helper()
	raw, err := os.ReadFile(root + "/e2e/previous_release_test.go")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(raw), `const previousRelease = "`)
	require.True(t, found)
	commit, _, _ := strings.Cut(after, `"`)
	return commit
}

// buildHoldfast builds the previous release's image from its own sources and Dockerfile, and this one's as an operator does.
func (b *builder) buildHoldfast(t *testing.T) {
	t.Helper()
	sources := b.previous(t)
	path := sources + "/deploy/Dockerfile"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	// Its syntax line asks a registry for a frontend.
	raw = bytes.TrimPrefix(raw, []byte("# syntax=docker/dockerfile:1\n"))
	require.NoError(t, os.WriteFile(path, raw, 0o644))
	must(t, b.project.composeIn(sources, "previous", "build"))
	must(t, b.project.compose("build"))
}
