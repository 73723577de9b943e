package lab

import (
	"os"
	"strconv"
	"strings"
)

// MachineTime is what the kernel counts of all processors since the machine started, in ticks.
type MachineTime struct{ Stolen, All int64 }

// ReadMachineTime reads it now; where there is no /proc, nothing is known to be stolen.
func ReadMachineTime() MachineTime {
	raw, _ := os.ReadFile("/proc/stat")
	return parseMachineTime(string(raw))
}

// parseMachineTime reads the line of all processors: user, nice, system, idle, iowait, irq, softirq, steal. What guests used is
// counted in user and nice already.
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

// StolenSince is the share of the time since an earlier moment that the host gave to others.
func (t MachineTime) StolenSince(earlier MachineTime) float64 {
	return float64(t.Stolen-earlier.Stolen) / float64(max(t.All-earlier.All, 1))
}
