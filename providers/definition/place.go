package definition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Place is a line and a column of a file, from 1; zero if unknown.
type Place struct{ Line, Column int }

// String returns ":line:column", or "".
func (p Place) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf(":%d:%d", p.Line, p.Column)
}

// PlaceOf returns the place of a field such as "auth[0].hmac.signed" in a file, or of its closest parent. It is zero if the
// file has neither: the field is missing, or inherited.
func PlaceOf(text []byte, field string) Place {
	file, err := parser.ParseBytes(text, 0)
	if err != nil || len(file.Docs) == 0 || field == "" {
		return Place{}
	}
	at := walk(file.Docs[0].Body, field)
	if at == nil {
		return Place{}
	}
	return Place{at.Position.Line, at.Position.Column}
}

// walk follows a path as far as possible, and returns the token where it ends; nil if there is none.
func walk(node ast.Node, path string) (at *token.Token) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if rest, ok := after(entry.Key.String(), path); ok {
				if below := walk(entry.Value, rest); rest != "" && below != nil {
					return below
				}
				at = entry.Key.GetToken()
			}
		}
	case *ast.SequenceNode:
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(index)
		if err != nil || i >= len(n.Values) {
			return nil
		}
		if below := walk(n.Values[i], strings.TrimPrefix(rest, ".")); below != nil {
			return below
		}
		return begin(n.Values[i])
	}
	return at
}

// begin returns the first token of a node. A map's own token doesn't help, because it is between its first key and value.
func begin(node ast.Node) *token.Token {
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

// after returns the rest of a path after a key, which may have dots.
func after(key, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.Trim(key, `"'`))
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// maxNesting is the maximum nesting of brackets, and of list entries on one line. Indentation needs no limit: each level uses a
// column of every line below it.
const maxNesting = 64

// CheckNesting refuses deeply nested YAML. The parser's time grows with the square of the depth, up to minutes; scanning tokens
// is linear.
func CheckNesting(text []byte) error { return checkNesting(lexer.Tokenize(string(text))) }

func checkNesting(tokens token.Tokens) error {
	brackets, entries, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position.Line != line {
				line, entries = t.Position.Line, 0
			}
			entries++
		default:
		}
		if max(brackets, entries) > maxNesting {
			return fmt.Errorf("not YAML: line %d: nested deeper than %d levels", t.Position.Line, maxNesting)
		}
	}
	return nil
}
