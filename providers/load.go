package providers

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

//go:embed catalog/*.yaml
var embedded embed.FS

// maxFile is in bytes.
const maxFile = 1 << 20

// maxExtends is how long a chain of definitions that extend one another may be.
const maxExtends = 5

// Load reads the built-in definitions and those of the folder dir, which add to them or replace them by name; "" is no
// folder. The error joins a *DefinitionError for every mistake in every file.
func Load(dir string) (*Catalogue, error) {
	sources, err := sourcesOf(dir)
	if err != nil {
		return nil, err
	}
	return load(sources...)
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

// file is a definition before it is compiled.
type file struct {
	name   string
	tree   map[string]any
	origin Origin
}

func load(sources ...fs.FS) (*Catalogue, error) {
	files, unread := collect(sources...)
	all, err := compileAll(files)
	catalogue, conflicts := newCatalogue(all)
	if err := errors.Join(unread, err, conflicts); err != nil {
		return nil, err
	}
	return catalogue, nil
}

// collect reads the sources, of which the first is the built-in one, and lays the later ones over the earlier ones. The error
// joins those of every file that cannot be read; without any file at all the map is nil.
func collect(sources ...fs.FS) (map[string]file, error) {
	files := map[string]file{}
	var errs []error
	for i, source := range sources {
		found, err := readFiles(source)
		if errs = append(errs, err); found == nil {
			return nil, err
		}
		for name, f := range found {
			f.origin = originOf(files, name, i == 0)
			// A definition that extends its own name builds upon the one that it replaces.
			if below, ok := files[name]; ok && f.tree["extends"] == name {
				f.tree = merge(below.tree, f.tree)
				delete(f.tree, "extends")
			}
			files[name] = f
		}
	}
	return files, errors.Join(errs...)
}

func compileAll(files map[string]file) ([]*Provider, error) {
	var all []*Provider
	var errs []error
	for _, name := range sortedNamesOf(files) {
		p, err := compileFile(files, files[name])
		if errs = append(errs, err); p != nil {
			all = append(all, p)
		}
	}
	return all, errors.Join(errs...)
}

func sortedNamesOf(files map[string]file) []string { return slices.Sorted(maps.Keys(files)) }

func compileFile(files map[string]file, f file) (*Provider, error) {
	c := &compiler{eventCompiler{problems: problems{file: f.name}}}
	var d definition
	tree := c.extend(files, f.tree, maxExtends)
	c.fill("", tree, reflect.ValueOf(&d).Elem())
	p := c.compile(&d)
	p.file, p.tree, p.written, p.origin = f.name, tree, &d, f.origin
	if err := c.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// extend lays a definition over the one that it extends. Paths and samples are a provider's own: they are
// not passed on.
func (c *compiler) extend(files map[string]file, tree map[string]any, depth int) map[string]any {
	base, ok := tree["extends"].(string)
	if !ok {
		return tree
	}
	below, known := files[base]
	if !known || depth == 0 {
		c.add("extends", "%q is no definition, or extends itself", base)
		return tree
	}
	inherited := merge(c.extend(files, below.tree, depth-1), nil)
	delete(inherited, "paths")
	delete(inherited, "samples")
	return merge(inherited, tree)
}

// readFiles reads the definitions of one folder, by name.
func readFiles(source fs.FS) (map[string]file, error) {
	entries, err := fs.ReadDir(source, ".")
	if err != nil {
		return nil, fmt.Errorf("read folder of definitions: %w", err)
	}
	files := map[string]file{}
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() || !isDefinition(entry.Name()) {
			continue
		}
		tree, err := readFile(source, entry.Name())
		if err != nil {
			errs = append(errs, &DefinitionError{File: entry.Name(), Reason: err.Error()})
			continue
		}
		files[trimExtension(entry.Name())] = file{name: entry.Name(), tree: tree}
	}
	return files, errors.Join(errs...)
}

func isDefinition(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(name, ".")
}

func readFile(source fs.FS, name string) (map[string]any, error) {
	data, err := fs.ReadFile(source, name)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return readTree(data)
}
