package stacktest

import (
	"os"
	"syscall"
)

// inMemory is where Linux keeps files in memory. A database has hundreds of files: copying one takes 200 ms on a disk, 10 ms
// here. Tests keep less than 1 GiB at a time; a container has 64 MiB here unless it asks for more.
const (
	inMemory = "/dev/shm"
	roomy    = 4 << 30
	noExec   = 8 // ST_NOEXEC; a downloaded PostgreSQL is unpacked and runs next to its data
)

// TempDir returns a new directory for servers' data, in memory if there is room and TMPDIR isn't set. An unprivileged PostgreSQL
// can reach it even without a capability.
func TempDir(name string) (string, error) {
	dir, err := os.MkdirTemp(parent(), "holdfast-"+name+"-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

func parent() string {
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(inMemory, &s) != nil || s.Flags&noExec != 0 ||
		s.Bavail*uint64(s.Bsize) < roomy {
		return os.TempDir()
	}
	return inMemory
}
