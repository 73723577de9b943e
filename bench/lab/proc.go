package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// process identifies a process permanently: PIDs are reused, but not with the same start time.
type process struct {
	pid   int
	start uint64
}

// cpuTime is the usage of a process and of its children that it has waited for.
type cpuTime struct{ self, ended time.Duration }

// The fields of /proc/PID/stat after the name of the program, from 0.
const (
	statParent        = 1
	statUser          = 11
	statSystem        = 12
	statChildrenUser  = 13
	statChildrenSys   = 14
	statStart         = 19
	statFieldsWanted  = 20
	statmResidentPart = 1
)

var errStat = errors.New("it is not as proc(5) says")

func readProcess(pid int) (p process, used cpuTime, err error) {
	fields, err := stat(pid)
	if err != nil {
		return p, used, err
	}
	ticks := func(field int) time.Duration {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return time.Duration(n) * tick
	}
	p.pid = pid
	p.start, _ = strconv.ParseUint(fields[statStart], 10, 64)
	used.self = ticks(statUser) + ticks(statSystem)
	used.ended = ticks(statChildrenUser) + ticks(statChildrenSys)
	return p, used, nil
}

func stat(pid int) ([]string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(raw[max(0, bytes.LastIndexByte(raw, ')')):]), " ") // the name may contain anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < statFieldsWanted {
		return nil, fmt.Errorf("read /proc/%d/stat: %w", pid, errStat)
	}
	return fields, nil
}

// children returns the processes with this parent.
func children(parent int) (pids []int) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range directories {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		fields, err := stat(pid)
		if err == nil && fields[statParent] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// databaseOf parses the title of a PostgreSQL process: "postgres: user database 127.0.0.1(1234) idle". Others, such as
// "postgres: walwriter", have no address.
func databaseOf(pid int) (string, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "", false
	}
	title := strings.Fields(string(bytes.TrimRight(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}), " ")))
	const user, database, address = 1, 2, 3
	if len(title) <= address || title[0] != "postgres:" || title[user] == "autovacuum" || !strings.Contains(title[address], "(") {
		return "", false
	}
	return title[database], true
}

func isPostgres(label string) bool { return strings.HasPrefix(label, postgresLabel) }

// residentSize is in bytes; 0 if the process is gone.
func residentSize(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(raw))
	if err != nil || len(fields) <= statmResidentPart {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[statmResidentPart], 10, 64)
	return pages * int64(os.Getpagesize())
}

// proportionalSize is in bytes, with each shared page divided among its processes; 0 if the process is gone.
func proportionalSize(pid int) int64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// PostgresMemory returns the memory of all processes of PostgreSQL, in bytes, with shared pages counted once.
func (l *Lab) PostgresMemory() (sum int64) {
	for _, pid := range append(children(l.Postgres.PID()), l.Postgres.PID()) {
		sum += proportionalSize(pid)
	}
	return sum
}

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
