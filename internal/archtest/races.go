package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// InProcess is the one package below e2e that runs product code in its own process. The others drive programs, which are built
// without the race detector.
const InProcess = "e2e/clients"

// Unraced returns the packages whose tests run without the race detector: those whose code and tests start no goroutine and share
// no state with any, and those that drive programs from outside.
func Unraced(packages []Package) (unraced []string, err error) {
	for _, p := range packages {
		if len(p.TestFiles) == 0 {
			continue
		}
		concurrent, err := anyConcurrent(slices.Concat(p.Files, p.TestFiles))
		if err != nil {
			return nil, err
		}
		if !concurrent || isBelow(p.Path, "e2e") && p.Path != InProcess {
			unraced = append(unraced, p.Path)
		}
	}
	slices.Sort(unraced)
	return unraced, nil
}

// Unwatched returns the packages with concurrent code that no test with the race detector runs: they are in unraced or have no
// tests, and no package that runs with the detector imports them.
func Unwatched(packages []Package, unraced []string) (unwatched []string, err error) {
	named, reached := map[string]Package{}, map[string]bool{}
	for _, p := range packages {
		named[p.Path] = p
	}
	var reach func(path string)
	reach = func(path string) {
		if name, isOurs := below(path); isOurs && !reached[name] {
			reached[name] = true
			for _, next := range named[name].Imports {
				reach(next)
			}
		}
	}
	for _, p := range packages {
		if len(p.TestFiles) > 0 && !slices.Contains(unraced, p.Path) {
			for _, path := range append(slices.Concat(p.Imports, p.TestImports), module+"/"+p.Path) {
				reach(path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(named)) {
		concurrent, err := anyConcurrent(named[path].Files)
		if err != nil {
			return nil, err
		}
		if concurrent && !reached[path] {
			unwatched = append(unwatched, path)
		}
	}
	return unwatched, nil
}

func anyConcurrent(files []string) (bool, error) {
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, fmt.Errorf("parse %s: %w", filepath.Base(name), err)
		}
		if isConcurrent(file) {
			return true, nil
		}
	}
	return false, nil
}

// isConcurrent finds go statements, calls of a method Go, and imports of sync, sync/atomic and golang.org/x/sync.
func isConcurrent(file *ast.File) (found bool) {
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if path == "sync" || path == "sync/atomic" || strings.HasPrefix(path, "golang.org/x/sync/") {
			return true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}

var unracedVariable = regexp.MustCompile(`(?m)^UNRACED :=((?:.*\\\n)*.*)$`)

// UnracedOf returns the packages that a Makefile's variable UNRACED lists.
func UnracedOf(makefile string) []string {
	found := unracedVariable.FindStringSubmatch(makefile)
	if found == nil {
		return nil
	}
	return strings.Fields(strings.ReplaceAll(found[1], "\\\n", " "))
}
