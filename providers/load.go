package providers

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
)

//go:embed catalog/*.yaml
var embedded embed.FS

// builtInFiles are the definitions of the catalogue. To parse them is most of what a load does, and they stay what they are.
var builtInFiles = sync.OnceValues(readBuiltIn)

func readBuiltIn() (definition.Files, error) {
	folder, err := fs.Sub(embedded, "catalog")
	if err != nil {
		return nil, fmt.Errorf("open built-in definitions: %w", err)
	}
	return definition.Collect(folder)
}

// Load reads the built-in definitions and those of the folder dir, which add to them or replace them by name; "" is no
// folder. The error joins a *definition.Error for every mistake in every file.
func Load(dir string) (*Catalogue, error) {
	files, unread := ReadAll(dir)
	if files == nil {
		return nil, unread
	}
	return load(files, unread)
}

// load compiles the files; unread is the error of those that could not be read.
func load(files definition.Files, unread error) (*Catalogue, error) {
	var own []*Provider
	errs := []error{unread}
	for _, name := range files.Names() {
		if files[name].Origin == definition.OriginBuiltIn {
			continue
		}
		p, err := Compile(files, files[name])
		if errs = append(errs, err); p != nil {
			own = append(own, p)
		}
	}
	catalogue, conflicts := NewCatalogue(files, own)
	if err := errors.Join(append(errs, conflicts)...); err != nil {
		return nil, err
	}
	return catalogue, nil
}

// ReadAll reads the built-in definitions and lays those of a folder over them; "" is no folder. The error joins one for every
// file that cannot be read; there are no files at all where it is the folder. Those that are built in are the same at every
// call, so nobody may change them.
func ReadAll(dir string) (definition.Files, error) {
	all, err := builtInFiles()
	if err != nil || dir == "" {
		return all, err
	}
	if _, err := os.ReadDir(dir); err != nil { // the errors of an os.DirFS do not name it
		return nil, fmt.Errorf("read folder of definitions (HOLDFAST_PROVIDERS_DIR, or --providers-dir): %w", err)
	}
	return all.Under(os.DirFS(dir))
}

// builtInEntry is a definition of the catalogue, which is compiled when it is looked for. That none of them has a mistake is
// tested.
func builtInEntry(files definition.Files, f definition.File) entry {
	p := definition.Problems{File: f.Name}
	d, tree := p.Read(files, f)
	paths, _ := auth.NewPaths(&p, d.Name, d.Paths)
	return entry{read{d, definition.File{Name: f.Name, Tree: tree, Origin: f.Origin}, paths}, sync.OnceValue(func() *Provider {
		compiled, err := Compile(files, f)
		if err != nil {
			panic(err)
		}
		return compiled
	})}
}

// Compile compiles one of the files. The error joins a *definition.Error for every mistake.
func Compile(files definition.Files, f definition.File) (*Provider, error) {
	c := &compiler{mapping.Compiler{Problems: definition.Problems{File: f.Name, Place: f.Place}}}
	d, tree := c.Read(files, f)
	p := c.compile(d)
	p.file = definition.File{Name: f.Name, Tree: tree, Origin: f.Origin, Replaced: f.Replaced, Text: f.Text}
	if err := c.Err(); err != nil {
		return nil, err
	}
	p.typeLabels.addAll(p.typesOfSamples())
	if below, ok := files[d.Extends]; ok && d.Extends != f.Name { // whose samples are not passed on
		if base, err := Compile(files, below); err == nil {
			p.typeLabels.addAll(slices.Collect(maps.Keys(base.typeLabels.names)))
		}
	}
	return p, nil
}
