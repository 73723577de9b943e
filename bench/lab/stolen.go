package lab

import (
	"os"
	"strconv"
	"strings"
)

// MachineTime is the kernel's count for all processors since boot, in ticks.
type MachineTime struct{ Stolen, All int64 }

// ReadMachineTime reads it; without /proc, no time counts as stolen.
func ReadMachineTime() MachineTime {
	raw, _ := os.ReadFile("/proc/stat")
	return parseMachineTime(string(raw))
}

// parseMachineTime parses the line for all processors: user, nice, system, idle, iowait, irq, softirq, steal. Guest times are
// already included in user and nice.
func parseMachineTime(stat string) (t MachineTime) {
	const steal, known = 8, 9
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < known || fields[0] != "cpu" {
		return t
	}
	for _, field := range fields[1:known] {
		n, _ := strconv.ParseInt(field, 10, 64)
		t.All += n
	}
	t.Stolen, _ = strconv.ParseInt(fields[steal], 10, 64)
	return t
}

// StolenSince returns the share of the time since earlier that the host used otherwise.
func (t MachineTime) StolenSince(earlier MachineTime) float64 {
	return float64(t.Stolen-earlier.Stolen) / float64(max(t.All-earlier.All, 1))
}
