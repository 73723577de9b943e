package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// oldestTemporal is the first release whose SQLite is modernc.org/sqlite 1.51.0 or newer. With an older one, a request that is
// canceled at the wrong moment leaves the server unable to run any query until it is restarted. What tools/temporal builds is an
// older release with a newer SQLite, since Go can't install this one.
var oldestTemporal = [3]int{1, 9, 1}

// FindTemporal returns the path of the temporal program: the one on the PATH if its version is oldestTemporal or newer, else the
// one in binDir, the directory of the running program. The archive holdfast-dev of a release has one, and the Makefile builds one
// by the same rule.
func FindTemporal(ctx context.Context, binDir string) (string, error) {
	if path, err := exec.LookPath("temporal"); err == nil {
		if version, ok := temporalVersion(ctx, path); ok && !older(version, oldestTemporal) {
			return path, nil
		}
	}
	binDir, err := filepath.Abs(binDir)
	if err != nil {
		return "", err
	}
	adjacent := filepath.Join(binDir, "temporal")
	if _, err := os.Stat(adjacent); err != nil {
		return "", fmt.Errorf("no temporal program: none of %d.%d.%d or newer on the PATH, and none at %s: %s",
			oldestTemporal[0], oldestTemporal[1], oldestTemporal[2], adjacent, temporalHint(binDir))
	}
	return adjacent, nil
}

// temporalHint names the command that gets the program.
func temporalHint(binDir string) string {
	checkout := filepath.Dir(binDir)
	if _, err := os.Stat(filepath.Join(checkout, "tools", "temporal", "go.mod")); err == nil {
		return "run `make -C " + checkout + " bin/temporal`"
	}
	if _, err := exec.LookPath("brew"); err == nil {
		return "run `brew install temporal`"
	}
	return fmt.Sprintf("run `tar -xzf holdfast-dev_VERSION_%s_%s.tar.gz -C %s temporal` with the archive of your release, "+
		"or set TEMPORAL_ADDRESS=127.0.0.1:7233, a server that you have", runtime.GOOS, runtime.GOARCH, binDir)
}

var versionPattern = regexp.MustCompile(`version (\d+)\.(\d+)\.(\d+)(\s|$)`)

// temporalVersion parses the program's "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)". Only releases have a version.
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

func older(a, b [3]int) bool { return slices.Compare(a[:], b[:]) < 0 }
