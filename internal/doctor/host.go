package doctor

import (
	"fmt"
	"syscall"
)

// The thresholds for disk usage, in percent.
const (
	diskWarn = 85
	diskFail = 95
)

func (d *doctor) examineHost() { d.examineDisk("disk of this host", ".") }

// examineDisk skips directories that aren't on this machine or not accessible.
func (d *doctor) examineDisk(check, dir string) {
	var disk syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &disk) != nil || disk.Blocks == 0 {
		return
	}
	free := disk.Bavail * 100 / disk.Blocks
	d.found(check, above(100-free, diskWarn, diskFail), fmt.Sprintf("%d%% free", free),
		"free some space: PostgreSQL stops when its disk is full")
}
