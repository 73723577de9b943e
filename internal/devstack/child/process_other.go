//go:build !linux

package child

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// CommandLine is what a process was started with; "" when there is no such process.
func CommandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// PostgresProcesses is the postmaster over the data directory, if one runs. Its backends end by themselves without it.
func PostgresProcesses(data string) []int {
	pid := ReadNumber(filepath.Join(data, "postmaster.pid"))
	line := CommandLine(pid)
	if pid > 0 && strings.Contains(line, "postgres") && strings.Contains(line, data) {
		return []int{pid}
	}
	return nil
}
