package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// diskOf returns a PostgreSQL on its own file system, with a size in MiB. Mounting one needs root.
func diskOf(t testing.TB, size int) *postgres {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-chaos-disk-") //nolint:usetesting // the account of PostgreSQL has to reach it
	require.NoError(t, err)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "tmpfs", dir).CombinedOutput(); err != nil {
		_ = os.Remove(dir)
		t.Skipf("a disk that can be filled cannot be mounted: %v %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("umount", dir).Run()
		_ = os.Remove(dir)
	})
	require.NoError(t, os.Chmod(dir, 0o755))
	p, err := startPostgres(t.Context(), filepath.Join(dir, "database"), map[string]string{
		"max_wal_size": "48MB", "min_wal_size": "32MB",
	})
	require.NoError(t, err)
	t.Cleanup(p.kill)
	require.NoError(t, prepareTemplate(context.Background(), p))
	return p
}

// fillDisk fills the database's disk for the length of a fault. PostgreSQL refuses writes that need space for data, and exits
// when it needs space for its log.
func fillDisk(w *world) {
	ballast := filepath.Join(filepath.Dir(w.sql.options.Dir), "ballast")
	file, err := os.Create(ballast)
	require.NoError(w.t, err)
	defer file.Close()
	block := make([]byte, 64<<10)
	for {
		if _, err := file.Write(block); err != nil {
			require.ErrorIs(w.t, err, syscall.ENOSPC)
			break
		}
	}
	w.sleep(2 * outage)
	require.NoError(w.t, os.Remove(ballast))
	require.NoError(w.t, file.Close())
	w.sleep(time.Second)
	select {
	case <-w.sql.server.Done():
		w.sql.server = nil // recover starts it
	default:
	}
}
