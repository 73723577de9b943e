// Package reference generates the reference page of all variables, docs/configuration.md, for tests and go generate: the product
// contains neither the comments of its configuration nor the template.
package reference

import (
	"cmp"
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"text/template"

	"holdfast/internal/config"
)

// Variable describes one variable.
type Variable struct {
	Name string
	// Former is the name in the release before, which still works; or "".
	Former string
	// Default is the value of an unset variable, or "".
	Default string
	// Example is a valid value.
	Example string
	// Doc describes its meaning, special values and limits.
	Doc string
	// Secret marks a variable whose value is never shown and may come from the file that NAME_FILE names.
	Secret bool
}

// Section is a part of the configuration, with its variables in the order of their declaration.
type Section struct {
	Name, Doc string
	Variables []Variable
}

// Read parses the configuration. The path is that of internal/config/sections.go, whose comments are the texts.
func Read(path string) ([]Section, error) {
	docs, err := readDocs(path)
	if err != nil {
		return nil, err
	}
	var all []Section
	for declared := range reflect.TypeFor[config.Config]().Fields() {
		if !declared.IsExported() {
			continue
		}
		name := declared.Type.Name()
		section := Section{Name: name, Doc: docs[name]}
		for f := range declared.Type.Fields() {
			fallback := f.Tag.Get("envDefault")
			section.Variables = append(section.Variables, Variable{
				Name: f.Tag.Get("env"), Former: f.Tag.Get("former"), Default: fallback, Example: cmp.Or(f.Tag.Get("example"), fallback),
				Doc: docs[name+"."+f.Name], Secret: f.Type == reflect.TypeFor[config.Secret](),
			})
		}
		all = append(all, section)
	}
	return all, nil
}

// readDocs returns the comments by type ("Ingress") and field ("Ingress.Addr"), each without its leading Go name.
func readDocs(path string) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	docs := map[string]string{}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		section := general.Specs[0].(*ast.TypeSpec)
		docs[section.Name.Name] = sentence(section.Name.Name, general.Doc)
		for _, f := range section.Type.(*ast.StructType).Fields.List {
			docs[section.Name.Name+"."+f.Names[0].Name] = sentence(f.Names[0].Name, f.Doc)
		}
	}
	return docs, nil
}

// sentence turns "Addr is the address …" into "The address …".
func sentence(name string, doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	text = strings.TrimPrefix(text, name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

//go:embed page.md.tmpl
var pageTemplate string

// Page renders docs/configuration.md.
func Page(sections []Section) (string, error) {
	var b strings.Builder
	err := template.Must(template.New("reference").Parse(pageTemplate)).Execute(&b, sections)
	return b.String(), err
}
