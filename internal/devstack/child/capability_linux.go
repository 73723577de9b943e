package child

import (
	"os"
	"strconv"
	"strings"
)

// From linux/capability.h.
const (
	capChown         = 0
	capDACOverride   = 1
	capDACReadSearch = 2
	capSetGID        = 6
	capSetUID        = 7
)

// missingCapabilities lists those that root in a container may lack and that we need to run a program as another user and to
// manage that user's data directory.
func missingCapabilities() (names []string) {
	permitted := permittedCapabilities()
	for _, needed := range []struct {
		number int
		name   string
	}{
		{capChown, "CAP_CHOWN"}, {capDACOverride, "CAP_DAC_OVERRIDE"},
		{capSetGID, "CAP_SETGID"}, {capSetUID, "CAP_SETUID"},
	} {
		if permitted&(1<<needed.number) == 0 {
			names = append(names, needed.name)
		}
	}
	return names
}

// searchCapability returns the capability for a process that must enter directories that the file modes forbid it, or nil.
// CAP_DAC_READ_SEARCH is the lesser one, but Docker containers don't have it by default.
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
