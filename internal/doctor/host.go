package doctor

import (
	"fmt"
	"syscall"
)

// The least share of a disk that should be free, in percent.
const (
	diskWarn = 15
	diskFail = 5
)

func (d *doctor) examineHost() { d.examineDisk("disk of this host", ".") }

// examineDisk says nothing of a directory that is not on this machine or not ours to see.
func (d *doctor) examineDisk(check, dir string) {
	var disk syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &disk) != nil || disk.Blocks == 0 {
		return
	}
	free := disk.Bavail * 100 / disk.Blocks
	v := verdictOK
	switch {
	case free < diskFail:
		v = verdictFail
	case free < diskWarn:
		v = verdictWarn
	}
	d.found(check, v, fmt.Sprintf("%d%% free", free), "make room: PostgreSQL stops when its disk is full")
}
