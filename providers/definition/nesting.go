package definition

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxNesting is how deep brackets, and list entries on one line, may be nested. Indentation needs no limit of its own: each level
// takes a column of every line below it.
const maxNesting = 64

// CheckNesting refuses YAML that is nested so deeply that the parser, whose time grows with the square of the depth, would take
// minutes. Tokens take linear time.
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
