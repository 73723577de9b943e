package definition

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxFile is in bytes.
const maxFile = 1 << 20

// maxExtends is the maximum length of an inheritance chain.
const maxExtends = 5

// File is a definition before it is compiled.
type File struct {
	// Name is the file name without its folder.
	Name string
	// Tree is the content of the file: maps, lists and scalars. That of a built-in file lacks the samples; see Whole.
	Tree   map[string]any
	Origin Origin
	// Replaced lists the lists that it replaces, as a whole, of the definition that it extends.
	Replaced []string
	// Text is the file with its samples, own the source of the tree.
	Text, own []byte
}

// SampleTypes returns the types of its samples in file order.
func (f File) SampleTypes() (types []string) {
	var written struct {
		Samples yaml.MapSlice `yaml:"samples"`
	}
	if yaml.Unmarshal(f.Text, &written) != nil {
		return nil // it was parsed before
	}
	for _, sample := range written.Samples {
		types = append(types, fmt.Sprint(sample.Key))
	}
	return types
}

// Whole returns the file with the samples in its tree. Those of the built-in files, which are most of their text, are parsed only
// for definitions that are compiled.
func (f File) Whole() (File, error) {
	if f.Origin != OriginBuiltIn || f.Tree["samples"] != nil {
		return f, nil
	}
	tree, err := readTree(f.Text)
	if err != nil {
		return f, &Error{File: f.Name, Reason: err.Error()}
	}
	f.Tree = tree
	return f, nil
}

// Place returns the place of a field in the file; see PlaceOf.
func (f File) Place(field string) Place { return PlaceOf(f.own, field) }

// Files are definitions by name.
type Files map[string]File

// Names returns the sorted names.
func (all Files) Names() []string { return slices.Sorted(maps.Keys(all)) }

// withoutSamples returns a built-in file up to its samples, which are at its end.
func withoutSamples(text []byte) []byte {
	head, _, _ := bytes.Cut(text, []byte("\nsamples:"))
	return head
}

// Collect reads the built-in definitions. The error joins one for every unreadable file.
func Collect(builtIn fs.FS) (Files, error) {
	all, err := readFiles(builtIn, withoutSamples)
	for name, f := range all {
		f.Origin = OriginBuiltIn
		all[name] = f
	}
	return all, err
}

// Under returns a copy of these definitions with a folder's definitions merged over them. The error joins one for every
// unreadable file; if the folder itself is unreadable, the map is nil.
func (all Files) Under(folder fs.FS) (Files, error) {
	found, err := readFiles(folder, func(text []byte) []byte { return text })
	if found == nil {
		return nil, err
	}
	out := maps.Clone(all)
	for name, f := range found {
		f.Origin = OriginOwn
		if below, ok := all[name]; ok {
			f.Origin = OriginOverridden
			below, unread := below.Whole()
			err = errors.Join(err, unread)
			f = f.upon(name, below)
		}
		out[name] = f
	}
	for name, f := range out {
		if base, ok := f.Tree["extends"].(string); ok && f.Origin != OriginBuiltIn {
			f.Replaced = append(f.Replaced, replaced(base, out[base].Tree, f.Tree)...)
			out[name] = f
		}
	}
	return out, err
}

// upon merges a definition that extends its own name over the one that it replaces.
func (f File) upon(name string, below File) File {
	if f.Tree["extends"] != name {
		return f
	}
	if f.Tree["samples"] == nil {
		f.Text = below.Text
	}
	f.Replaced = replaced(name, below.Tree, f.Tree)
	f.Tree = inherit(below.Tree, f.Tree)
	if f.Tree["extends"] = below.Tree["extends"]; f.Tree["extends"] == nil {
		delete(f.Tree, "extends")
	}
	return f
}

// replaced returns which lists a tree replaces of its base: only maps are merged.
func replaced(base string, below, over map[string]any) (all []string) {
	for _, field := range slices.Sorted(maps.Keys(over)) {
		before, ok := below[field].([]any)
		now, is := over[field].([]any)
		if ok && is && len(before) > 0 && field != "paths" {
			all = append(all, fmt.Sprintf("%s: these %d take the place of the %d of %s, as a whole: copy what is to stay",
				field, len(now), len(before), base))
		}
	}
	return all
}

// Read returns the effective definition of a file, after everything that it extends, and its tree.
func (p *Problems) Read(all Files, f File) (*Definition, map[string]any) {
	var d Definition
	tree := p.extend(all, f.Tree, maxExtends)
	p.fill("", tree, reflect.ValueOf(&d).Elem())
	return &d, tree
}

// extend merges a definition over the one that it extends. Paths, samples and sources are a provider's own and not inherited.
func (p *Problems) extend(all Files, tree map[string]any, depth int) map[string]any {
	base, ok := tree["extends"].(string)
	if !ok {
		return tree
	}
	below, known := all[base]
	if !known || depth == 0 {
		p.Add("extends", "%q isn't a definition, or extends itself%s", base, didYouMean(base, all.Names()))
		return tree
	}
	inherited := merge(p.extend(all, below.Tree, depth-1), nil)
	delete(inherited, "paths")
	delete(inherited, "samples")
	delete(inherited, "sources")
	return inherit(inherited, tree)
}

// readFiles reads the definitions of one folder, by name. Only what `parsed` returns of each file becomes its tree.
func readFiles(source fs.FS, parsed func([]byte) []byte) (Files, error) {
	entries, err := fs.ReadDir(source, ".")
	if err != nil {
		return nil, fmt.Errorf("read folder of definitions: %w", err)
	}
	all := Files{}
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() || !IsFile(entry.Name()) {
			continue
		}
		f, err := readFile(source, entry.Name(), parsed)
		if err != nil {
			errs = append(errs, &Error{File: entry.Name(), Reason: err.Error()})
			continue
		}
		all[NameOf(entry.Name())] = f
	}
	return all, errors.Join(errs...)
}

// IsFile reports whether a file of this name is a definition.
func IsFile(name string) bool {
	ext := filepath.Ext(name)
	return (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(name, ".")
}

func readFile(source fs.FS, name string, parsed func([]byte) []byte) (f File, err error) {
	f.Name = name
	if f.Text, err = fs.ReadFile(source, name); err != nil {
		return f, errors.New("cannot be read")
	}
	if len(f.Text) > maxFile {
		return f, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	f.own = f.Text
	f.Tree, err = readTree(parsed(f.own))
	return f, err
}

// NameOf returns the name of the definition in a file.
func NameOf(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
