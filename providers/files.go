package providers

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxFile is in bytes.
const maxFile = 1 << 20

// maxExtends is how long a chain of definitions that extend one another may be.
const maxExtends = 5

// file is a definition before it is compiled.
type file struct {
	name   string
	tree   map[string]any
	origin Origin
}

// files are definitions by name.
type files map[string]file

// names are sorted.
func (all files) names() []string { return slices.Sorted(maps.Keys(all)) }

// collect reads the sources, of which the first is the built-in one, and lays the later ones over the earlier ones. The error
// joins those of every file that cannot be read; without any file at all the map is nil.
func collect(sources ...fs.FS) (files, error) {
	all := files{}
	var errs []error
	for i, source := range sources {
		found, err := readFiles(source)
		if errs = append(errs, err); found == nil {
			return nil, err
		}
		for name, f := range found {
			f.origin = originOf(all, name, i == 0)
			// A definition that extends its own name builds upon the one that it replaces.
			if below, ok := all[name]; ok && f.tree["extends"] == name {
				f.tree = merge(below.tree, f.tree)
				delete(f.tree, "extends")
			}
			all[name] = f
		}
	}
	return all, errors.Join(errs...)
}

// readDefinition gives the definition of a file as it applies, after all that it extends, and its tree.
func (p *problems) readDefinition(all files, f file) (*definition, map[string]any) {
	var d definition
	tree := p.extend(all, f.tree, maxExtends)
	p.fill("", tree, reflect.ValueOf(&d).Elem())
	return &d, tree
}

// extend lays a definition over the one that it extends. Paths and samples are a provider's own: they are
// not passed on.
func (p *problems) extend(all files, tree map[string]any, depth int) map[string]any {
	base, ok := tree["extends"].(string)
	if !ok {
		return tree
	}
	below, known := all[base]
	if !known || depth == 0 {
		p.add("extends", "%q is no definition, or extends itself", base)
		return tree
	}
	inherited := merge(p.extend(all, below.tree, depth-1), nil)
	delete(inherited, "paths")
	delete(inherited, "samples")
	return merge(inherited, tree)
}

// readFiles reads the definitions of one folder, by name.
func readFiles(source fs.FS) (files, error) {
	entries, err := fs.ReadDir(source, ".")
	if err != nil {
		return nil, fmt.Errorf("read folder of definitions: %w", err)
	}
	all := files{}
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
		all[trimExtension(entry.Name())] = file{name: entry.Name(), tree: tree}
	}
	return all, errors.Join(errs...)
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

func trimExtension(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
