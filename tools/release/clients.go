package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"holdfast/internal/buildinfo"
)

const typescript = "client/typescript/"

// clients packs the clients for Go and TypeScript.
func (s source) clients(ctx context.Context, work, out string) error {
	golang, npm := "holdfast-client-go_"+buildinfo.Version+".tar.gz", "holdfast-client-"+buildinfo.Version+".tgz"
	if err := s.goClient(ctx, filepath.Join(out, golang)); err != nil {
		return err
	}
	return s.typescriptClient(ctx, filepath.Join(work, "typescript"), filepath.Join(out, npm))
}

// goClient packs the module for a `replace` of go.mod.
func (s source) goClient(ctx context.Context, to string) error {
	const below = "holdfast-client-go"
	files, err := s.committed(ctx, "client/", below, ":!"+typescript)
	if err != nil {
		return err
	}
	return writeTarGz(to, append(files, s.license(below)), s.time)
}

// typescriptClient compiles the package in a new folder, and packs it as `npm pack` does.
func (s source) typescriptClient(ctx context.Context, dir, to string) error {
	sources, err := s.committed(ctx, typescript, "")
	if err != nil {
		return err
	}
	for _, f := range sources {
		if err := f.copy(dir); err != nil {
			return err
		}
	}
	for _, arguments := range [][]string{{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}, {"run", "build"}} {
		command := exec.CommandContext(ctx, "npm", arguments...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("npm %s: %w (Node.js and npm must be installed)\n%s", arguments[0], err, out)
		}
	}
	files, err := filesBelow(filepath.Join(dir, "dist"), "package/dist")
	if err != nil {
		return err
	}
	for _, name := range []string{"package.json", "README.md"} {
		files = append(files, file{name: "package/" + name, mode: 0o644, source: filepath.Join(dir, name)})
	}
	return writeTarGz(to, append(files, s.license("package")), s.time)
}

func (s source) license(below string) file {
	return file{name: below + "/LICENSE", mode: 0o644, source: filepath.Join(s.root, "LICENSE")}
}

// copy writes the file below a folder.
func (f file) copy(dir string) error {
	content, err := os.ReadFile(f.source)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, f.name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644) //nolint:gosec // the names are those of the checkout
}
