package chaos

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// usage is a process's resource usage.
type usage struct {
	goroutines, files int
	memory            int // resident, in MiB
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

// use reads the current usage of a process.
func (w *world) use(n *node) (u usage, err error) {
	metrics, err := n.get(w.t.Context(), "/metrics")
	if err != nil {
		return u, err
	}
	if found := goroutines.FindStringSubmatch(metrics); found != nil {
		u.goroutines, _ = strconv.Atoi(found[1])
	}
	if strings.Contains(metrics, canary) {
		w.t.Errorf("the metrics of %s have a payload or a secret in them", n.name)
	}
	proc := fmt.Sprintf("/proc/%d/", n.pid())
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		return u, err
	}
	u.files = len(files)
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(text)[0])
			u.memory = kib >> 10
		}
	}
	return u, nil
}

func (w *world) measureBaseline() {
	for _, n := range w.nodes() {
		var err error
		if n.baseline, err = w.use(n); err != nil {
			w.t.Errorf("measure %s: %v", n.name, err)
		}
	}
}

// The allowance above the baseline. Pools grow with the load of a fault, and shrink only after minutes; at 25 events per second
// a leak exceeds it within a scenario.
const (
	roomGoroutines = 100
	roomFiles      = 80
	roomMemory     = 160
)

// exceeds returns what has grown beyond the allowance.
func (u usage) exceeds(baseline usage) error {
	if u.goroutines > baseline.goroutines+roomGoroutines || u.files > baseline.files+roomFiles ||
		u.memory > baseline.memory+roomMemory {
		return fmt.Errorf("it was %+v and is %+v", baseline, u)
	}
	return nil
}
