package devstack

import (
	"os"
	"strconv"
	"strings"
)

// From linux/capability.h. Either lets a process pass directories that the file modes close to it; the first allows
// reading only, and is not among those that a Docker container has by default.
const (
	capDACOverride   = 1
	capDACReadSearch = 2
)

// searchCapability returns the lesser capability that we have and can hand on, or nil.
func searchCapability() []uintptr {
	permitted := permittedCapabilities()
	for _, c := range []uintptr{capDACReadSearch, capDACOverride} {
		if permitted&(1<<c) != 0 {
			return []uintptr{c}
		}
	}
	return nil
}

func permittedCapabilities() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapPrm:"); ok {
			set, _ := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return set
		}
	}
	return 0
}
