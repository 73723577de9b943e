package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// Surfaces are the trees whose packages read and change the stores through the interfaces of operator/api, and declare none of
// their own. The interfaces of commands can't lead to a store: see OneDoor.
var Surfaces = []string{"operator/console", "operator/dispatcher", "operator/importer", "internal/cli/importer"}

// NotStores are the types of surfaces that look like access to a store, with the reason why they aren't.
var NotStores = map[string]string{
	"operator/console.Doctor":         "it returns the last results of the process's checks",
	"operator/console.operationKind":  "its functions call the API's",
	"operator/console.headAction":     "its function is one of the API's",
	"operator/console/frame.Counter":  "it asks the API",
	"operator/console/frame.Renderer": "it draws a part of a page",
}

// OwnStores returns the types of the packages in some trees through which values from outside can read or change a store:
// interfaces with a method that takes a context, and types and fields of a function that does.
func OwnStores(packages []Package, trees []string) (all []string, err error) {
	for _, p := range packages {
		if !slices.ContainsFunc(trees, func(tree string) bool { return isBelow(p.Path, tree) }) {
			continue
		}
		for _, name := range p.Files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", name, err)
			}
			for _, one := range openTypes(file) {
				all = append(all, p.Path+"."+one)
			}
		}
	}
	return all, nil
}

// openTypes returns the types of a file that have a function with a context and without a body.
func openTypes(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if t, ok := n.(*ast.TypeSpec); ok && hasOpenFunction(t.Type) {
			names = append(names, t.Name.Name)
		}
		return true
	})
	return names
}

func hasOpenFunction(t ast.Expr) (found bool) {
	ast.Inspect(t, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok && f.Params != nil {
			found = found || slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
				s, ok := p.Type.(*ast.SelectorExpr)
				return ok && s.Sel.Name == "Context"
			})
		}
		return !found
	})
	return found
}
