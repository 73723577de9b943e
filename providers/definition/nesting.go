package definition

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxNesting is the maximum nesting of brackets, and of list entries on one line. Indentation needs no limit: each level uses a
// column of every line below it.
const maxNesting = 64

// CheckNesting refuses deeply nested YAML. The parser's time grows with the square of the depth, up to minutes; scanning tokens
// is linear.
func CheckNesting(text []byte) error {
	brackets, entries, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(text)) {
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
