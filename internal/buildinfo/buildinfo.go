// Package buildinfo identifies the running build of Holdfast. It must not depend on configuration.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Both are set at link time: -ldflags "-X holdfast/internal/buildinfo.version=v1.2.3". A build inside a repository needs no
// revision; one in a container, which lacks the repository, does.
var version, revision string

// Info identifies a build.
type Info struct {
	// Version is the release, or "dev" without one.
	Version string `json:"version"`
	// Revision is the commit, with "+dirty" if the tree had changes; "unknown" for a build outside a repository.
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// Read returns the identity of the running binary.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return from(build)
}

func from(build *debug.BuildInfo) Info {
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	commit := cmp.Or(revision, settings["vcs.revision"], "unknown")
	if settings["vcs.modified"] == "true" {
		commit += "+dirty"
	}
	return Info{Version: cmp.Or(version, "dev"), Revision: commit, Go: cmp.Or(build.GoVersion, "unknown")}
}

// String returns one readable line.
func (i Info) String() string {
	return fmt.Sprintf("holdfast %s (%s, %s)", i.Version, i.Revision, i.Go)
}
