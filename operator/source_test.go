package operator_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// source reads comments and constants, which reflection doesn't see, from the source of this module.
type source struct {
	t *testing.T
	// read has the declarations of packages that were read.
	read map[string][]*ast.GenDecl
}

// declarations returns the declarations of a type's package.
func (s source) declarations(t reflect.Type) []*ast.GenDecl {
	path, ok := strings.CutPrefix(t.PkgPath(), "holdfast/")
	if !ok || s.read[path] != nil {
		return s.read[path]
	}
	files, err := filepath.Glob(filepath.Join("..", path, "*.go"))
	require.NoError(s.t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(s.t, err)
		for _, d := range file.Decls {
			if general, ok := d.(*ast.GenDecl); ok {
				s.read[path] = append(s.read[path], general)
			}
		}
	}
	return s.read[path]
}

// constants returns the constants of a string type.
func (s source) constants(t reflect.Type) (values []any) {
	for _, d := range s.declarations(t) {
		for _, spec := range d.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || d.Tok != token.CONST {
				continue
			}
			if of, ok := value.Type.(*ast.Ident); !ok || of.Name != t.Name() {
				continue
			}
			text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			require.NoError(s.t, err)
			if !slices.Contains(values, any(text)) {
				values = append(values, text)
			}
		}
	}
	return values
}

// comment returns the first sentence of a type's comment, or the whole comment of a field, without the name at its beginning.
func (s source) comment(t reflect.Type, field string) string {
	typeName, _, _ := strings.Cut(t.Name(), "[")
	for _, d := range s.declarations(t) {
		for _, spec := range d.Specs {
			declared, ok := spec.(*ast.TypeSpec)
			if !ok || declared.Name.Name != typeName {
				continue
			}
			if structure, ok := declared.Type.(*ast.StructType); ok && field != "" {
				return withoutSubject(withJSONNames(fieldComment(structure, field), t), withJSONNames(field, t))
			}
			return withoutSubject(new(doc.Package).Synopsis(d.Doc.Text()), typeName)
		}
	}
	return ""
}

// fieldComment returns the comment of a field, or else that of a field before it, if that names this one too.
func fieldComment(structure *ast.StructType, name string) string {
	last := ""
	for _, field := range structure.Fields.List {
		text := field.Doc.Text() + field.Comment.Text()
		if text != "" {
			last = text
		}
		for _, ident := range field.Names {
			if ident.Name == name {
				if text == "" && !regexp.MustCompile(`\b`+name+`\b`).MatchString(last) {
					return ""
				}
				return strings.Join(strings.Fields(last), " ")
			}
		}
	}
	return ""
}

// withoutSubject shortens "Rate is the max rate." to "The max rate.".
func withoutSubject(text, name string) string {
	rest, ok := strings.CutPrefix(strings.Replace(text, name+": ", name+" ", 1), name+" ")
	if !ok || strings.HasPrefix(rest, "and ") || strings.HasPrefix(rest, "or ") {
		return text
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:]
}

var capitalized = regexp.MustCompile(`\b[A-Z]\w*`)

// withJSONNames replaces the names of a struct's fields with those that they have in JSON, except abbreviations such as ID.
func withJSONNames(text string, t reflect.Type) string {
	return capitalized.ReplaceAllStringFunc(text, func(word string) string {
		field, ok := t.FieldByName(word)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); ok && word != strings.ToUpper(word) && name != "" && name != "-" {
			return name
		}
		return word
	})
}
