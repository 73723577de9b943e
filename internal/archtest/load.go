package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
)

// listed is a package in the output of `go list -json`.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// Load lists the packages of the module in root.
func Load(root string) ([]Package, error) {
	const fields = "ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"
	out, err := run(root, "list", "-e", "-json="+fields, "./...")
	if err != nil {
		return nil, err
	}
	var packages []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		path, _ := below(l.ImportPath)
		packages = append(packages, Package{
			Path: path, Imports: l.Imports, TestImports: slices.Concat(l.TestImports, l.XTestImports),
			HasCode: len(l.GoFiles) > 0, Files: l.paths(l.GoFiles), TestFiles: l.paths(slices.Concat(l.TestGoFiles, l.XTestGoFiles)),
		})
	}
}

func (l listed) paths(names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(l.Dir, name))
	}
	return paths
}

// run runs the go command without network access.
func run(dir string, args ...string) ([]byte, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(command.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, stderr.String())
	}
	return out, nil
}
