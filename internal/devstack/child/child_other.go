//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// Prepare lacks what only Linux has (see child_linux.go): here a child outlives a `kill -9` of its parent, and the next start
// ends it.
func Prepare(cmd *exec.Cmd, _ syscall.Signal, acc *Account) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if acc != nil {
		attr.Credential = &syscall.Credential{Uid: acc.uid, Gid: acc.gid}
	}
	cmd.SysProcAttr = attr
}
