package cluster

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/buildinfo"
	"holdfast/internal/devstack/faulttest"
	"holdfast/internal/devstack/program"
)

// Images that aren't Holdfast's: a Debian with PostgreSQL and Temporal's server and tools, and what keeps the namespaces of a
// pod.
const (
	standInImage = "holdfast.test/stand-in:1"
	pauseImage   = "holdfast.test/pause:1"
)

// standInArchive is imported by the first node only, where PostgreSQL and Temporal run: it is large.
const standInArchive = "stand-in.tar"

// Tags of Holdfast's image. The chart's default is the third, with the same content as dev.
const (
	previousTag = "previous"
	currentTag  = "dev"
)

// image is the content of an archive.
type image struct {
	file   string
	tags   []string
	layers []string // tar archives
	user   string
	start  []string // the entry point
}

// buildImages writes the archives that the nodes import. Debian and the previous release come from the cache, where they stay.
func buildImages(t *testing.T, root, cache string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(cache+"/images", 0o755))
	debian := cache + "/debian.tar"
	if _, err := os.Stat(debian); err != nil {
		faulttest.WriteDebian(t, debian+".new")
		require.NoError(t, os.Rename(debian+".new", debian))
	}
	commit := faulttest.PreviousRelease(t, root)[:12]
	previous := cache + "/holdfast-" + commit
	if _, err := os.Stat(previous); err != nil {
		sources := faulttest.PreviousSources(t, root)
		require.NoError(t, program.BuildBench(t.Context(), sources, cache+"/holdfast-bench-"+commit))
		require.NoError(t, program.Build(t.Context(), sources, previous))
	}
	tools := map[string]string{"entrypoint.sh": root + "/e2e/compose/testdata/images/postgres/entrypoint.sh"}
	for _, tool := range []string{"temporal-server", "temporal-sql-tool", "temporal"} {
		tools["usr/local/bin/"+tool] = root + "/bin/" + tool
	}
	holdfast := []string{currentTag, buildinfo.Version}
	for _, i := range []image{
		{file: standInArchive, tags: []string{standInImage}, layers: []string{debian, layer(t, tools)}, start: []string{"/bin/bash"}},
		{file: "pause.tar", tags: []string{pauseImage}, layers: []string{layer(t, pauseFiles)}, start: []string{"/bin/sleep", "infinity"}},
		{file: "previous.tar", tags: []string{"holdfast:" + previousTag}, layers: []string{layer(t, holdfastFiles(previous))}},
		{file: "current.tar", tags: []string{"holdfast:" + holdfast[0], "holdfast:" + holdfast[1]},
			layers: []string{layer(t, holdfastFiles(root+"/bin/holdfast"))}},
	} {
		if i.start == nil {
			i.start, i.user = []string{"/holdfast"}, "65532:65532"
		}
		i.write(t, cache+"/images/"+i.file)
	}
}

// pauseFiles are a program that does nothing, and its libraries.
var pauseFiles = map[string]string{
	"bin/sleep": "/bin/sleep", "lib64/ld-linux-x86-64.so.2": "/lib64/ld-linux-x86-64.so.2",
	"lib/x86_64-linux-gnu/libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
}

// holdfastFiles is the content of Holdfast's image, as deploy/Dockerfile makes it. The user is needed by number only.
func holdfastFiles(program string) map[string]string {
	return map[string]string{"holdfast": program, "etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"}
}

// layer writes files, by their names in the image, to a tar archive.
func layer(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layer.tar")
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	w := tar.NewWriter(out)
	for name, source := range files {
		addFile(t, w, name, source)
	}
	require.NoError(t, w.Close())
	return path
}

// addFile copies a file. Everyone may run it.
func addFile(t *testing.T, w *tar.Writer, name, source string) {
	t.Helper()
	in, err := os.Open(source)
	require.NoError(t, err)
	defer in.Close()
	info, err := in.Stat()
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: info.Size(), ModTime: info.ModTime()}))
	_, err = io.Copy(w, in)
	require.NoError(t, err)
}

// write writes the image in the format of docker save.
func (i image) write(t *testing.T, path string) {
	t.Helper()
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	w := tar.NewWriter(out)
	var digests, names []string
	for _, layer := range i.layers {
		digest := fileDigest(t, layer)
		digests, names = append(digests, "sha256:"+digest), append(names, digest+".tar")
		addFile(t, w, digest+".tar", layer)
	}
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "rootfs": map[string]any{"type": "layers", "diff_ids": digests},
		"config": map[string]any{"User": i.user, "Entrypoint": i.start,
			"Env": []string{"PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
	})
	require.NoError(t, err)
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": i.tags, "Layers": names}})
	require.NoError(t, err)
	for name, content := range map[string][]byte{"config.json": config, "manifest.json": manifest} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
}

func fileDigest(t *testing.T, path string) string {
	t.Helper()
	in, err := os.Open(path)
	require.NoError(t, err)
	defer in.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	require.NoError(t, err)
	return strings.ToLower(hex.EncodeToString(hash.Sum(nil)))
}
