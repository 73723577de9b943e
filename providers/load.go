package providers

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed catalog/*.yaml
var embedded embed.FS

// Load reads the built-in definitions and those of the folder dir, which add to them or replace them by name; "" is no
// folder. The error joins a *DefinitionError for every mistake in every file.
func Load(dir string) (*Catalogue, error) {
	files, unread := readAll(dir)
	if files == nil {
		return nil, unread
	}
	all, err := compileAll(files)
	catalogue, conflicts := newCatalogue(all)
	if err := errors.Join(unread, err, conflicts); err != nil {
		return nil, err
	}
	return catalogue, nil
}

// readAll reads the built-in definitions and lays those of a folder over them; "" is no folder. The error joins those of every file
// that cannot be read; there are no files at all where that is the folder.
func readAll(dir string) (files, error) {
	sources, err := sourcesOf(dir)
	if err != nil {
		return nil, err
	}
	return collect(sources...)
}

func sourcesOf(dir string) ([]fs.FS, error) {
	builtIn, err := fs.Sub(embedded, "catalog")
	if err != nil {
		return nil, fmt.Errorf("open built-in definitions: %w", err)
	}
	if dir == "" {
		return []fs.FS{builtIn}, nil
	}
	if _, err := os.ReadDir(dir); err != nil { // the errors of an os.DirFS do not name it
		return nil, fmt.Errorf("read folder of definitions: %w", err)
	}
	return []fs.FS{builtIn, os.DirFS(dir)}, nil
}

func compileAll(files files) ([]*Provider, error) {
	var all []*Provider
	var errs []error
	for _, name := range files.names() {
		p, err := compileFile(files, files[name])
		if errs = append(errs, err); p != nil {
			all = append(all, p)
		}
	}
	return all, errors.Join(errs...)
}

// compileFile compiles one of the files. The error joins a *DefinitionError for every mistake.
func compileFile(files files, f file) (*Provider, error) {
	c := &compiler{eventCompiler{problems: problems{file: f.name}}}
	d, tree := c.readDefinition(files, f)
	p := c.compile(d)
	p.file, p.tree, p.written, p.origin = f.name, tree, d, f.origin
	if err := c.err(); err != nil {
		return nil, err
	}
	return p, nil
}
