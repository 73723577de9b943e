package devstack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serveArchive serves a package as npm has it, and returns its address and its checksum.
func serveArchive(t *testing.T) (url, sum string) {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	for _, f := range []struct {
		name, content string
		mode          int64
	}{
		{"package/package.json", "{}", 0o644},
		{"package/native/bin/postgres", "#!/bin/sh\n", 0o755},
		{"package/native/lib/libpq.so.5.17", "a library", 0o644},
		{"package/native/pg-symlinks.json", `[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"}]`, 0o644},
	} {
		require.NoError(t, files.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))}))
		_, err := files.Write([]byte(f.content))
		require.NoError(t, err)
	}
	require.NoError(t, files.Close())
	require.NoError(t, compressed.Close())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	t.Cleanup(server.Close)
	digest := sha512.Sum512(archive.Bytes())
	return server.URL, base64.StdEncoding.EncodeToString(digest[:])
}

func TestADownloadIsUnpackedWithItsLinks(t *testing.T) {
	t.Parallel()
	url, sum := serveArchive(t)
	to := filepath.Join(t.TempDir(), "cache", "postgresql")
	for range 2 { // the second time, as another process that was as fast
		require.NoError(t, fetch(t.Context(), url, sum, to))
	}
	info, err := os.Stat(filepath.Join(to, "bin", "postgres"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode())
	library, err := os.ReadFile(filepath.Join(to, "lib", "libpq.so.5"))
	require.NoError(t, err)
	require.Equal(t, "a library", string(library))
	all, err := os.ReadDir(filepath.Dir(to))
	require.NoError(t, err)
	require.Len(t, all, 1, "nothing else is left")
}

// Root's home is closed to the account that PostgreSQL runs as.
func TestRootDownloadsOutsideOfItsHome(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs root")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	dir, err := downloadDir()
	require.NoError(t, err)
	require.False(t, strings.HasPrefix(dir, home), dir)
}

func TestADownloadWithAnotherChecksumIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := serveArchive(t)
	to := filepath.Join(t.TempDir(), "cache")
	require.ErrorContains(t, fetch(t.Context(), url, fetchedSums["linux-x64"], to), "has another checksum than expected")
	require.NoDirExists(t, to)
}
