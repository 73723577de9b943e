package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// pinnedTemporal is the version that tools/temporal builds.
var pinnedTemporal = [3]int{1, 5, 1}

// FindTemporal returns the path of the temporal program: one on the PATH if it is newer than the pinned version, else
// the one in binDir that `make tools` builds.
func FindTemporal(ctx context.Context, binDir string) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		if version, ok := temporalVersion(ctx, path); ok && newer(version, pinnedTemporal) {
			return path, nil
		}
	}
	built, err := filepath.Abs(filepath.Join(binDir, "temporal"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(built); err != nil {
		return "", fmt.Errorf("no temporal program: none newer than %d.%d.%d on the PATH, and none at %s: "+
			"build it with `make tools`", pinnedTemporal[0], pinnedTemporal[1], pinnedTemporal[2], built)
	}
	return built, nil
}

var versionPattern = regexp.MustCompile(`version (\d+)\.(\d+)\.(\d+)`)

// temporalVersion asks the program: "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)".
func temporalVersion(ctx context.Context, path string) (version [3]int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return version, false
	}
	match := versionPattern.FindStringSubmatch(string(out))
	if match == nil {
		return version, false
	}
	for i := range version {
		version[i], _ = strconv.Atoi(match[i+1])
	}
	return version, true
}

func newer(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}
