package providers

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"holdfast/providers/auth"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
	"holdfast/providers/recovery"
)

//go:embed catalog/*.yaml
var embedded embed.FS

// builtInFiles are the definitions of the catalogue. Parsing them is most of a load, and they never change.
var builtInFiles = sync.OnceValues(readBuiltIn)

func readBuiltIn() (definition.Files, error) {
	folder, err := fs.Sub(embedded, "catalog")
	if err != nil {
		return nil, fmt.Errorf("open built-in definitions: %w", err)
	}
	return definition.Collect(folder)
}

// Load reads the built-in definitions and the ones in the folder dir ("" for none), which add to them or replace them by name.
// The error joins a *definition.Error for every error in every file.
func Load(dir string) (*Catalogue, error) {
	files, unread := ReadAll(dir)
	if files == nil {
		return nil, unread
	}
	return load(files, unread)
}

// load compiles the files; unread is the error of the unreadable ones.
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

// ReadAll reads the built-in definitions and merges a folder's definitions ("" for none) over them. The error joins one for every
// unreadable file; if the folder itself is unreadable, there are no files. The built-in ones are shared between calls: don't
// change them.
func ReadAll(dir string) (definition.Files, error) {
	all, err := builtInFiles()
	if err != nil || dir == "" {
		return all, err
	}
	if _, err := os.ReadDir(dir); err != nil { // the errors of an os.DirFS lack its path
		return nil, fmt.Errorf("read folder of definitions (HOLDFAST_PROVIDERS_DIR, or --providers-dir): %w", err)
	}
	return all.Under(os.DirFS(dir))
}

// builtInEntry is a definition of the catalogue that is compiled on first use. A test checks that none has an error.
func builtInEntry(files definition.Files, f definition.File) entry {
	p := definition.Problems{File: f.Name}
	d, tree := p.Read(files, f)
	paths, _ := auth.NewPaths(&p, d.Name, d.Paths)
	list := sync.OnceValue(func() *recovery.List { return recovery.New(&definition.Problems{}, "", d.API, d.Recover) })
	return entry{read{d, definition.File{Name: f.Name, Tree: tree, Origin: f.Origin}, paths}, list, sync.OnceValue(func() *Provider {
		compiled, err := Compile(files, f)
		if err != nil {
			panic(err)
		}
		return compiled
	})}
}

// Compile compiles one of the files. The error joins a *definition.Error for every error.
func Compile(files definition.Files, f definition.File) (*Provider, error) {
	p, err := compileUnnamed(files, f)
	if err != nil {
		return nil, err
	}
	p.NameTypes(p.typesOfSamples())
	if below, ok := files[p.Written().Extends]; ok && p.Written().Extends != f.Name { // whose samples aren't inherited
		if base, err := Compile(files, below); err == nil {
			p.NameTypes(base.NamedTypes())
		}
	}
	return p, nil
}

// compileUnnamed compiles a file without running its samples, which give the types their labels in metrics.
func compileUnnamed(files definition.Files, f definition.File) (*Provider, error) {
	f, err := f.Whole()
	if err != nil {
		return nil, err
	}
	c := &mapping.Compiler{Problems: definition.Problems{File: f.Name, Place: f.Place}}
	d, tree := c.Read(files, f)
	p := compile(c, d, tree)
	p.file = definition.File{Name: f.Name, Tree: tree, Origin: f.Origin, Replaced: f.Replaced, Text: f.Text}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// digestOf returns a short hash of a definition, of which fmt prints the maps in the order of their keys.
func digestOf(tree map[string]any) string {
	tree = maps.Clone(tree)
	delete(tree, "samples")
	h := sha256.New()
	fmt.Fprintf(h, "%#v", tree)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
