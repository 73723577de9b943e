package stacktest

import (
	"os"
	"syscall"
)

// inMemory is where Linux keeps files in memory. A database is hundreds of files: on a disk a copy of one takes 200 ms, here ten.
// What tests keep at a time is below 1 GiB; a container has 64 MiB here unless it asks for more.
const (
	inMemory = "/dev/shm"
	roomy    = 4 << 30
	noExec   = 8 // ST_NOEXEC; a downloaded PostgreSQL is unpacked beside its data, and runs there
)

// TempDir is a new directory for the data of servers, in memory where there is room and TMPDIR does not say otherwise. An
// unprivileged PostgreSQL can reach it also where it gets no capability to.
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
