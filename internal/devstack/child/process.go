package child

import (
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// CommandLine returns a process's command line, arguments separated by spaces; "" if there is no such process.
func CommandLine(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	line, _ := p.Cmdline()
	return line
}

// PostgresProcesses returns the processes of a server over the data directory: the postmaster and its backends, which may
// outlive it for a moment. They are found by their working directory.
func PostgresProcesses(data string) (pids []int) {
	all, _ := process.Processes()
	for _, p := range all {
		if dir, err := p.Cwd(); err != nil || dir != data {
			continue
		}
		name, _ := p.Name()
		status, err := p.Status()
		if err == nil && name == "postgres" && !slices.Contains(status, process.Zombie) {
			pids = append(pids, int(p.Pid))
		}
	}
	return pids
}

// portOwner returns the process that listens on a TCP port, or 0, "" (other users' sockets need root).
func portOwner(port int) (pid int, name string) {
	all, _ := net.Connections("tcp")
	for _, c := range all {
		if c.Status != "LISTEN" || int(c.Laddr.Port) != port || c.Pid == 0 {
			continue
		}
		p, err := process.NewProcess(c.Pid)
		if err != nil {
			continue
		}
		name, _ := p.Name()
		return int(c.Pid), name
	}
	return 0, ""
}
