package jq

import (
	"fmt"

	"github.com/itchyny/gojq"
)

// The limits of an expression. Beyond them, the time for parsing and compiling grows with the square of the depth, and so does
// the stack.
const (
	maxSource  = 16 << 10 // bytes
	maxNesting = 64
)

// parse parses an expression within the limits.
func parse(source string) (*gojq.Query, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("is longer than %d bytes", maxSource)
	}
	if isDeep(source) {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxNesting)
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("is not jq: %w", err)
	}
	return query, nil
}

// isDeep counts brackets, and strings, which may have expressions in \( ).
func isDeep(source string) bool {
	var open []byte
	for i := 0; i < len(source) && len(open) <= maxNesting; i++ {
		c := source[i]
		isText := len(open) > 0 && open[len(open)-1] == '"'
		switch {
		case isText && c == '\\':
			if i++; i < len(source) && source[i] == '(' {
				open = append(open, '(')
			}
		case isText && c == '"', !isText && (c == ')' || c == ']' || c == '}'):
			open = open[:max(0, len(open)-1)]
		case isText:
		case c == '#':
			for i < len(source) && source[i] != '\n' {
				i++
			}
		case c == '"', c == '(', c == '[', c == '{':
			open = append(open, c)
		}
	}
	return len(open) > maxNesting
}
