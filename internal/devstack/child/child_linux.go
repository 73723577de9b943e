package child

import (
	"os/exec"
	"syscall"
)

// Prepare puts the child in its own process group, so that Ctrl-C reaches only us and we stop the servers in order; has the
// kernel signal it when we die; and runs it as another user if acc is not nil.
func Prepare(cmd *exec.Cmd, deathSignal syscall.Signal, acc *Account) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: deathSignal}
	if acc != nil {
		attr.Credential = &syscall.Credential{Uid: acc.uid, Gid: acc.gid}
		attr.AmbientCaps = acc.capabilities
	}
	cmd.SysProcAttr = attr
}
