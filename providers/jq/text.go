package jq

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/itchyny/gojq"

	"holdfast/providers/decode"
)

// Text returns a scalar as text: numbers in one canonical form, so that 1, 1.0 and 1e0 are one ID. ok is false for null, "",
// booleans, arrays and objects, none of which identify anything.
func Text(v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case json.Number:
		return decode.CanonicalNumber(v.String()), true
	case int:
		return strconv.Itoa(v), true
	case *big.Int, float64:
		b, err := gojq.Marshal(v)
		return decode.CanonicalNumber(string(b)), err == nil
	}
	return "", false
}

// Kind describes a value that identifies nothing, without showing it: null, false, "" or its type.
func Kind(v any) string {
	switch v {
	case nil:
		return "null"
	case false:
		return "false"
	case "":
		return `""`
	}
	return "a value of type " + gojq.TypeOf(v)
}
