package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portOwner is the process that listens on a TCP port, as far as we may see it (other users' sockets need root); 0, "".
func portOwner(port int) (pid int, name string) {
	sockets := listeningSockets(port)
	if len(sockets) == 0 {
		return 0, ""
	}
	handles, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, ""
	}
	for _, handle := range handles {
		if target, err := os.Readlink(handle); err != nil || !sockets[target] {
			continue
		}
		process := filepath.Dir(filepath.Dir(handle))
		pid, _ = strconv.Atoi(filepath.Base(process))
		comm, _ := os.ReadFile(filepath.Join(process, "comm"))
		return pid, strings.TrimSpace(string(comm))
	}
	return 0, ""
}

// listeningSockets are the sockets that listen on a port, in the form in which /proc/*/fd names them.
func listeningSockets(port int) map[string]bool {
	const (
		localAddress = 1
		state        = 3
		inode        = 9
		listening    = "0A"
	)
	sockets := map[string]bool{}
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			fields := strings.Fields(line)
			if len(fields) > inode && fields[state] == listening && strings.HasSuffix(fields[localAddress], suffix) {
				sockets["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	return sockets
}
