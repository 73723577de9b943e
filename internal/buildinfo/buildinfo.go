// Package buildinfo says which build of Holdfast is running. It must never depend on anything that is configured.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Both are set at the link: -ldflags "-X holdfast/internal/buildinfo.version=v1.2.3". A build inside of a repository needs
// no revision; one in a container, where the repository is left out, does.
var version, revision string

// Info is the identity of a build.
type Info struct {
	// Version is the release, or "dev" for a build that has none.
	Version string `json:"version"`
	// Revision is the commit, with "+dirty" if the tree had changes; "unknown" for a build outside of a repository.
	Revision string `json:"revision"`
	// Go is the version of the toolchain.
	Go string `json:"go"`
}

// Read gives the identity of the running binary.
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

// String is one line for people.
func (i Info) String() string {
	return fmt.Sprintf("holdfast %s (%s, %s)", i.Version, i.Revision, i.Go)
}
