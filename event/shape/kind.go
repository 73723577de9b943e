package shape

import (
	"encoding/json"
	"slices"
	"strings"
)

// Kind is the JSON type of a value.
type Kind string

// The kinds, in the order in which they are listed. A number without a fraction and an exponent is an Integer.
const (
	Null    Kind = "null"
	Boolean Kind = "boolean"
	Integer Kind = "integer"
	Number  Kind = "number"
	String  Kind = "string"
	Array   Kind = "array"
	Object  Kind = "object"
)

var kinds = []Kind{Null, Boolean, Integer, Number, String, Array, Object}

// kindOf returns the kind of a value that was decoded with UseNumber.
func kindOf(v any) Kind {
	switch v := v.(type) {
	case bool:
		return Boolean
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return Number
		}
		return Integer
	case string:
		return String
	case []any:
		return Array
	case map[string]any:
		return Object
	default:
		return Null
	}
}

// isNumeric reports whether all kinds are numbers.
func isNumeric(all ...Kind) bool {
	return !slices.ContainsFunc(all, func(k Kind) bool { return k != Integer && k != Number })
}
