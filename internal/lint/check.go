package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/definition"
)

// Checked is the result of a check.
type Checked struct {
	// Names are the checked definitions, sorted.
	Names    []string  `json:"definitions"`
	Findings []Finding `json:"findings"`
	// Notes are remarks on things that are allowed but easily overlooked.
	Notes []string `json:"notes,omitempty"`
}

// Problems returns the findings that aren't advice.
func (c *Checked) Problems() (problems []Finding) {
	for _, f := range c.Findings {
		if !f.Advice {
			problems = append(problems, f)
		}
	}
	return problems
}

// CheckAll validates and lints the built-in definitions and the ones in the folder dir ("" for none).
func CheckAll(dir string, s auth.Secrets) (Checked, error) {
	return check(dir, s, func(definition.File) bool { return true })
}

// CheckPath validates and lints the definitions of a folder, or one file. What they extend is looked up in the same folder and
// among the built-in ones. The only possible error is that the path can't be read.
func CheckPath(path string, s auth.Secrets) (Checked, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Checked{}, fmt.Errorf("find definition: %w", err)
	}
	dir, wanted := path, func(f definition.File) bool { return f.Origin != definition.OriginBuiltIn }
	if !info.IsDir() {
		dir = filepath.Dir(path)
		wanted = func(f definition.File) bool {
			return f.Origin != definition.OriginBuiltIn && f.Name == filepath.Base(path)
		}
		if !definition.IsFile(info.Name()) {
			return Checked{}, fmt.Errorf("%s isn't a definition: use NAME.yaml", path)
		}
	}
	return check(dir, s, wanted)
}

// check checks the wanted definitions and skips the others: they may be files of another kind.
func check(dir string, s auth.Secrets, wanted func(definition.File) bool) (Checked, error) {
	files, err := providers.ReadAll(dir)
	if files == nil {
		return Checked{}, err
	}
	var result Checked
	for _, d := range definition.Errors(err) {
		if wanted(definition.File{Name: d.File, Origin: definition.OriginOwn}) {
			result.Names = append(result.Names, definition.NameOf(d.File))
			result.invalid(d)
		}
	}
	var compiled []*providers.Provider
	for _, name := range files.Names() {
		if !wanted(files[name]) {
			continue
		}
		result.Names = append(result.Names, name)
		for _, replaced := range files[name].Replaced {
			result.Notes = append(result.Notes, files[name].Name+": "+replaced)
		}
		p, err := providers.Compile(files, files[name])
		if result.invalid(err); p != nil {
			compiled = append(compiled, p)
		}
	}
	if len(result.Names) == 0 {
		return Checked{}, fmt.Errorf("%s has no definition: want NAME.yaml", dir)
	}
	result.lint(s, compiled, files)
	slices.Sort(result.Names)
	return result, nil
}

func (c *Checked) lint(s auth.Secrets, compiled []*providers.Provider, files definition.Files) {
	catalogue, err := providers.NewCatalogue(files, compiled)
	c.invalid(err)
	catalogue = catalogue.WithSecrets(s)
	for _, p := range compiled {
		bound, _ := catalogue.Lookup(p.Name())
		for _, f := range findingsOf(bound) {
			at := files[p.Name()].Place(f.Field)
			f.Line, f.Column = at.Line, at.Column
			c.Findings = append(c.Findings, f)
		}
		if off, _ := bound.APIOff(s); off != "" && (bound.Origin() != definition.OriginBuiltIn || bound.CheckSecrets() == nil) {
			c.Notes = append(c.Notes, bound.File()+": "+off)
		}
	}
}

// invalid records every problem that is joined in err.
func (c *Checked) invalid(err error) {
	for _, e := range definition.Errors(err) {
		c.Findings = append(c.Findings, Finding{
			File: e.File, Line: e.Place.Line, Column: e.Place.Column, Field: e.Field, Rule: RuleInvalid, Message: e.Reason,
		})
	}
}
