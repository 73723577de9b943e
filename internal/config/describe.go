package config

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// Variable describes one variable.
type Variable struct {
	// Section is the name of the part of the configuration that it belongs to.
	Section string
	Name    string
	// Default is the value where the variable is not set; "" if there is none.
	Default string
	// Example is a value that would do.
	Example string
	// Doc says what it means, its special values and its limits.
	Doc string
	// Secret is set where the value is never shown and may come from the file that NAME_FILE names.
	Secret bool
}

//go:embed sections.go
var sectionsSource string

// Describe lists all variables in the order of their declaration.
func Describe() []Variable {
	docs := readDocs()
	var all []Variable
	for _, f := range declaredFields() {
		all = append(all, Variable{
			Section: f.section, Name: f.name, Default: f.fallback, Example: f.example,
			Doc: docs[f.section+"."+f.goName], Secret: f.secret,
		})
	}
	return all
}

// readDocs gives the comments of sections.go by type ("Ingress") and field ("Ingress.Addr"), each without the Go name
// that it begins with.
func readDocs() map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "sections.go", sectionsSource, parser.ParseComments)
	if err != nil {
		panic(err) // the source that this package was compiled from
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
	return docs
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

// String lists the values that are in force as NAME=value, one a line, with secrets masked.
func (c Config) String() string {
	var b strings.Builder
	for section := range sections(reflect.ValueOf(&c).Elem()) {
		for f, value := range section.Fields() {
			fmt.Fprintf(&b, "%s=%v\n", newField(section.Type().Name(), f).name, value)
		}
	}
	return b.String()
}
