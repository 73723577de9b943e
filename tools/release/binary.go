package main

import (
	"context"
	"os"
	"os/exec"

	"holdfast/internal/buildinfo"
)

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

// build compiles the program without anything of this machine: no C, no paths, no flags of the environment. The revision is set
// here, since Go's own stamp depends on the tags that a clone has.
func (s source) build(ctx context.Context, p platform, path string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X holdfast/internal/buildinfo.revision="+s.revision, "-o", path, "./cmd/holdfast")
	command.Dir = s.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off",
		"GOOS="+p.os, "GOARCH="+p.arch)
	_, err := run(command)
	return err
}

// writeDependencies lists the modules in a program, with their hashes, in CycloneDX format. A time or a random number would
// differ between two builds, and full package URLs would have the platform of this machine.
func writeDependencies(ctx context.Context, root, program, path string) error {
	command := exec.CommandContext(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-noserial", "-notimestamp",
		"-short-purls", "-version", "v"+buildinfo.Version, "-output", path, program)
	command.Dir = root + "/tools/release"
	_, err := run(command)
	return err
}
