package chaos

import (
	"os/exec"
	"syscall"
)

// dieWithUs leaves nothing behind when the test is killed, and keeps Ctrl-C from the child.
func dieWithUs(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
