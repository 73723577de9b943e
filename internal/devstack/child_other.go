//go:build !linux

package devstack

import (
	"os/exec"
	"syscall"
)

// prepareChild is child_linux.go without what only Linux has: here a child outlives a `kill -9` of its parent, and the
// next start ends it.
func prepareChild(cmd *exec.Cmd, _ syscall.Signal, acc *account) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if acc != nil {
		attr.Credential = &syscall.Credential{Uid: acc.uid, Gid: acc.gid}
	}
	cmd.SysProcAttr = attr
}
