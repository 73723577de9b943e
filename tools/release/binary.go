package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast/internal/buildinfo"
)

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

// build compiles the program of a module that its file name names. The revision is set here, since Go's own stamp depends on the
// tags that a clone has.
func (s source) build(ctx context.Context, p platform, module, path string) error {
	return s.compile(ctx, p, module, "-ldflags", "-s -w -X holdfast/internal/buildinfo.revision="+s.revision,
		"-o", path, "./cmd/"+filepath.Base(path))
}

// temporal is the program that `holdfast dev` starts, with its license.
type temporal struct{ program, license string }

// buildTemporal compiles the program that the Makefile builds as bin/temporal.
func (s source) buildTemporal(ctx context.Context, p platform, path string) (temporal, error) {
	const module = "github.com/temporalio/cli"
	command := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Version}} {{.Module.Dir}}", module+"/cmd/temporal")
	command.Dir = filepath.Join(s.root, "tools", "temporal")
	out, err := run(command)
	if err != nil {
		return temporal{}, err
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(out), " ")
	err = s.compile(ctx, p, "tools/temporal", "-tags", "disable_grpc_modules",
		"-ldflags", "-s -w -X "+module+"/temporalcli.Version="+strings.TrimPrefix(version, "v"), "-o", path, module+"/cmd/temporal")
	return temporal{path, filepath.Join(dir, "LICENSE")}, err
}

// compile builds without anything of this machine: no C, no paths, no flags of the environment.
func (s source) compile(ctx context.Context, p platform, module string, arguments ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-buildvcs=false"}, arguments...)...)
	command.Dir = filepath.Join(s.root, module)
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
