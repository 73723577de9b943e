// Package buildinfo identifies the running build of Holdfast. It must not depend on configuration.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Version is the release that these sources are, or become. Commits after a release have the next one with the suffix "-dev".
const Version = "0.9.0"

// revision is set at link time where Go can't find the commit: -ldflags "-X holdfast/internal/buildinfo.revision=649160d".
var revision string

// Info identifies a build. Two builds of one version differ in their revision.
type Info struct {
	Version string `json:"version"`
	// Revision is the commit; "unknown" for a build outside a repository.
	Revision string `json:"revision"`
	// Modified is true if the sources differed from the commit.
	Modified bool   `json:"modified"`
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
	return Info{
		Version:  Version,
		Revision: cmp.Or(revision, settings["vcs.revision"], "unknown"),
		Modified: settings["vcs.modified"] == "true",
		Go:       cmp.Or(build.GoVersion, "unknown"),
	}
}

// ID returns the version and the commit as one word, such as "0.9.0-649160d". Temporal records it with each workflow task.
func (i Info) ID() string {
	id := i.Version + "-" + i.Revision
	if i.Modified {
		id += "-modified"
	}
	return id
}

// String returns one readable line.
func (i Info) String() string {
	commit := "commit " + i.Revision
	if i.Modified {
		commit += ", modified"
	}
	return fmt.Sprintf("holdfast %s (%s, %s)", i.Version, commit, i.Go)
}
