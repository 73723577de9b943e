//go:build !linux

package devstack

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// commandLine is what a process was started with; "" when there is no such process.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// postgresProcesses is the postmaster over the data directory, if one runs. Its backends end by themselves without it.
func postgresProcesses(data string) []int {
	pid := readNumber(filepath.Join(data, "postmaster.pid"))
	line := commandLine(pid)
	if pid > 0 && strings.Contains(line, "postgres") && strings.Contains(line, data) {
		return []int{pid}
	}
	return nil
}
