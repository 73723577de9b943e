//go:build !linux

package child

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// portOwner is the process that listens on a TCP port as lsof sees it; 0, "" when it sees none or is not there.
func portOwner(port int) (pid int, name string) {
	out, err := exec.Command("lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-Fpc").Output()
	if err != nil {
		return 0, ""
	}
	for line := range strings.Lines(string(out)) { // one field a line: p<pid>, c<command>
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "p") && pid == 0:
			pid, _ = strconv.Atoi(line[1:])
		case strings.HasPrefix(line, "c") && name == "":
			name = line[1:]
		}
	}
	return pid, name
}
