package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is a package of this module with its imports.
type Package struct {
	// Path is relative to the module; "." for the module's own directory.
	Path string
	// Imports are the imports of its code, TestImports the imports of its tests.
	Imports, TestImports []string
	// HasCode is false for a package with only tests.
	HasCode bool
	// Files and TestFiles are the paths of its Go files.
	Files, TestFiles []string
}

// Check returns a sentence for each violation of the table.
func Check(packages []Package, table []Rule) []string {
	rules := map[string]Rule{}
	for _, r := range table {
		rules[r.Package] = r
	}
	var breaches []string
	for _, p := range packages {
		rule, ok := rules[p.Path]
		if !ok {
			breaches = append(breaches, p.Path+" is a package without a rule in the import table: add one")
			continue
		}
		breaches = append(breaches, rule.check(p, rules)...)
	}
	return breaches
}

// Downward are the trees in which packages only import what is next to them or below, never what is above: a reader who opens one
// of their directories needs nothing from the way there.
var Downward = []string{"providers", "operator"}

// Upward returns a sentence for each import of a package above the importing one, in the trees.
func Upward(packages []Package, trees []string) (breaches []string) {
	for _, p := range packages {
		for _, path := range p.Imports {
			above, isOurs := below(path)
			inTree := slices.ContainsFunc(trees, func(tree string) bool { return isBelow(above, tree) })
			if isOurs && inTree && strings.HasPrefix(p.Path, above+"/") {
				breaches = append(breaches, p.Path+" imports "+above+", which is above it")
			}
		}
	}
	return breaches
}

// Door forbids a tree to reach packages, directly or by way of others, except through the named ones.
type Door struct {
	Tree, Why string
	Closed    []string
	// Through maps a package that may reach them to the reason.
	Through map[string]string
}

// OneDoor is where commands may reach the stores.
var OneDoor = Door{
	Tree: "internal/cli", Why: whyOneDoor, Closed: []string{"persistence", "workflows/runs"},
	Through: map[string]string{
		"internal/process/operatorapi": "it assembles the operator API in the command's own process",
		"internal/doctor":              "it examines an installation whose API may not start",
	},
}

// Breaches returns a sentence for each way around the door, and for a door that nothing uses.
func (d Door) Breaches(packages []Package) (breaches []string) {
	imports := map[string][]string{}
	for _, p := range packages {
		imports[p.Path] = p.Imports
	}
	used := map[string]bool{}
	for _, p := range packages {
		if isBelow(p.Path, d.Tree) {
			breaches = append(breaches, d.follow(p.Path, imports, used, map[string]bool{})...)
		}
	}
	for name := range d.Through {
		if !used[name] {
			breaches = append(breaches, "nothing in "+d.Tree+" uses "+name+": remove it from the doors")
		}
	}
	return breaches
}

func (d Door) follow(way string, imports map[string][]string, used, seen map[string]bool) (breaches []string) {
	from := way[strings.LastIndex(way, " ")+1:]
	for _, path := range imports[from] {
		ours, isOurs := below(path)
		if !isOurs || seen[ours] {
			continue
		}
		seen[ours] = true
		if _, isDoor := d.Through[ours]; isDoor {
			used[ours] = true
			continue
		}
		if slices.ContainsFunc(d.Closed, func(closed string) bool { return isBelow(ours, closed) }) {
			breaches = append(breaches, way+" imports "+ours+": "+d.Why)
			continue
		}
		breaches = append(breaches, d.follow(way+" imports "+ours, imports, used, seen)...)
	}
	return breaches
}

// Unused returns a sentence for each import that the table allows and no package uses.
func Unused(packages []Package, table []Rule) []string {
	imports := map[string][]string{}
	for _, p := range packages {
		imports[p.Path] = p.Imports
	}
	var unused []string
	for _, r := range table {
		used, exists := imports[r.Package]
		if !exists {
			unused = append(unused, r.Package+" has a rule but is not a package")
			continue
		}
		for _, ours := range r.Ours {
			if ours != anything && !slices.Contains(used, module+"/"+ours) {
				unused = append(unused, fmt.Sprintf("%s may import %s but does not: remove it from the rule", r.Package, ours))
			}
		}
	}
	return unused
}

func (r Rule) check(p Package, rules map[string]Rule) []string {
	var breaches []string
	if r.OnlyTests && p.HasCode {
		breaches = append(breaches, fmt.Sprintf("%s has code in addition to its tests: %s", p.Path, r.Why))
	}
	for _, path := range p.Imports {
		if why, broken := r.violation(path); broken {
			breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", p.Path, path, why))
		}
	}
	for _, path := range p.TestImports {
		if why, broken := r.testViolation(path, rules); broken {
			breaches = append(breaches, fmt.Sprintf("a test of %s imports %s: %s", p.Path, path, why))
		}
	}
	return breaches
}

// violation explains why the package must not import path.
func (r Rule) violation(path string) (why string, broken bool) {
	for _, ban := range r.Never {
		if isBelow(path, ban.Path) {
			return ban.Why, true
		}
	}
	ours, isOurs := below(path)
	switch {
	case isOurs:
		broken = !slices.Contains(r.Ours, ours) && !slices.Contains(r.Ours, anything)
	case isStandard(path):
		broken = false
	default:
		broken = !slices.ContainsFunc(r.Libraries, func(allowed string) bool { return matches(path, allowed) })
	}
	return r.Why, broken
}

// testViolation allows tests to import every library, and every package of this module that doesn't depend on the tested one.
func (r Rule) testViolation(path string, rules map[string]Rule) (why string, broken bool) {
	ours, isOurs := below(path)
	if !isOurs || ours == r.Package || r.OnlyTests {
		return "", false
	}
	for _, ban := range r.Never {
		if isBelow(path, ban.Path) && !isForTests(ours) {
			return ban.Why, true
		}
	}
	if buildsOn(ours, r.Package, rules) && !isWholeStore(ours, r.Package) {
		return fmt.Sprintf("%s builds on %s, so such a test belongs there or in e2e", ours, r.Package), true
	}
	return "", false
}

// isWholeStore reports whether a test of one store uses all of them: it is next to what it tests, and puts rows into the other
// stores.
func isWholeStore(ours, tested string) bool {
	return isBelow(tested, "persistence") && (ours == "persistence" || ours == "persistence/persistencetest")
}

func isForTests(ours string) bool { return strings.HasPrefix(ours, "internal/devstack") }

// buildsOn follows the table, not the code, so that a test can't reverse a direction that no package uses yet.
func buildsOn(upper, lower string, rules map[string]Rule) bool {
	seen := map[string]bool{} // Go has no import cycles, but the table may have one by mistake
	var builds func(string) bool
	builds = func(upper string) bool {
		if seen[upper] {
			return false
		}
		seen[upper] = true
		return slices.ContainsFunc(rules[upper].Ours, func(direct string) bool {
			return direct == anything || direct == lower || builds(direct)
		})
	}
	return builds(upper)
}

// below returns the path relative to this module.
func below(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func isBelow(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// matches compares the beginning of a path, or all of it if the pattern ends in "!".
func matches(path, pattern string) bool {
	if exact, ok := strings.CutSuffix(pattern, "!"); ok {
		return path == exact
	}
	return pattern == anything || isBelow(path, pattern)
}

// isStandard recognizes the standard library by the first element of the path, which has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
