package chaos

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends the child when the test is killed, and keeps Ctrl-C from it.
func dieWithUs(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
