package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes what the figures depend on apart from the program.
type Machine struct {
	Cores    int    `json:"cores"`
	CPU      string `json:"cpu"`
	MemoryMB int    `json:"memory_mb"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Postgres string `json:"postgres"`
	Temporal string `json:"temporal"`
	Commit   string `json:"commit"`
	// Load is the load average of the previous minute, from other programs.
	Load string `json:"load"`
}

// Describe examines the machine, before anything is started on it.
func Describe(ctx context.Context, root string) Machine {
	m := Machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: line("/proc/cpuinfo", `(?m)^model name\s*: (.*)$`),
		Kernel: line("/proc/sys/kernel/osrelease", `(.*)`), Load: line("/proc/loadavg", `^(\S+)`),
		Temporal: line(filepath.Join(root, "tools", "server", "go.mod"), `go\.temporal\.io/server v(\S+)`),
	}
	kib, _ := strconv.Atoi(line("/proc/meminfo", `MemTotal:\s+(\d+)`))
	m.MemoryMB = kib >> 10
	command := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	command.Dir = root
	out, _ := command.Output() // an archive has no commit
	m.Commit = strings.TrimSpace(string(out))
	return m
}

func line(path, pattern string) string {
	raw, _ := os.ReadFile(path)
	found := regexp.MustCompile(pattern).FindSubmatch(raw)
	if found == nil {
		return "unknown"
	}
	return strings.TrimSpace(string(found[1]))
}
