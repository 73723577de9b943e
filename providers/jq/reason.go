package jq

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// errEvaluation means that an expression failed on this input.
var errEvaluation = errors.New("expression failed")

// evaluationError is an errEvaluation with jq's reason.
type evaluationError struct{ reason string }

func (e *evaluationError) Error() string { return errEvaluation.Error() + ": " + e.reason }

// Is makes it an errEvaluation.
func (e *evaluationError) Is(target error) bool { return target == errEvaluation }

// messages are those of jq's errors, by the type of the error. jq prints a piece of each value; here {field} stands for the
// type of the value in that field of the error, and {name} for the name of a function. An error that isn't listed has no
// reason.
var messages = map[string]string{
	"expectedObjectError":       "expected an object but got: {v}",
	"expectedArrayError":        "expected an array but got: {v}",
	"iteratorError":             "cannot iterate over: {v}",
	"arrayIndexNegativeError":   "array index should not be negative",
	"arrayIndexTooLargeError":   "array index too large",
	"repeatStringTooLargeError": "repeat string result too large",
	"objectKeyNotStringError":   "expected a string for object key but got: {v}",
	"arrayIndexNotNumberError":  "expected a number for indexing an array but got: {v}",
	"stringIndexNotNumberError": "expected a number for indexing a string but got: {v}",
	"expectedStartEndError":     `expected "start" and "end" for slicing but got: {v}`,
	"func0TypeError":            "{name} cannot be applied to: {v}",
	"func1TypeError":            "{name}({w}) cannot be applied to: {v}",
	"func2TypeError":            "{name}({w}; {x}) cannot be applied to: {v}",
	"func0WrapError":            "{name} cannot be applied to this {v}",
	"func1WrapError":            "{name}({w}) cannot be applied to this {v}",
	"func2WrapError":            "{name}({w}; {x}) cannot be applied to this {v}",
	"flattenDepthError":         "flatten depth should not be negative",
	"timeArrayError":            "expected an array of 8 numbers",
	"timeEpochError":            "number of seconds is out of range",
	"timeNumberError":           "number is out of range",
	"unaryTypeError":            "cannot {name}: {v}",
	"binopTypeError":            "cannot {name}: {l} and {r}",
	"zeroDivisionError":         "cannot divide {l} by zero",
	"zeroModuloError":           "cannot modulo {l} by zero",
	"formatRowError":            "@{typ} cannot format an array including: {v}",
	"invalidPathError":          "invalid path against: {v}",
	"invalidPathIterError":      "invalid path on iterating against: {v}",
}

// reasonOf returns jq's message for an error of the source, with types in place of values, because those are from the payload.
// It is "" unless the message is known to contain no values.
func reasonOf(err error, source string) string {
	var raised gojq.ValueError
	if errors.As(err, &raised) {
		return raisedReason(raised.Value(), source)
	}
	if strings.HasPrefix(err.Error(), "unsupported regular expression flag") {
		return "a flag of a regular expression isn't supported" // jq's message has the flags, which came with the event
	}
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return ""
	}
	v = v.Elem()
	message := messages[v.Type().Name()]
	for _, f := range reflect.VisibleFields(v.Type()) {
		message = strings.ReplaceAll(message, "{"+f.Name+"}", fieldReason(f.Name, v.FieldByIndex(f.Index)))
	}
	return message
}

func fieldReason(name string, v reflect.Value) string {
	if name == "name" || name == "typ" {
		return v.String() // of a function, an operator or a format
	}
	return typeName(v)
}

// raisedReason returns what an expression raises with error: its text if it is a literal in the source, else its type.
func raisedReason(value any, source string) string {
	text, isText := value.(string)
	if quoted := strconv.Quote(text); isText && strings.Contains(source, quoted) {
		return "error: " + text
	}
	return "error: " + typeName(reflect.ValueOf(value))
}

// typeName returns jq's name for the type of a value, which may be an unexported field.
func typeName(v reflect.Value) string {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return "null"
	case v.Kind() == reflect.Bool:
		return "boolean"
	case v.CanInt(), v.CanFloat(), v.Type() == reflect.TypeFor[*big.Int](), v.Type() == reflect.TypeFor[json.Number]():
		return "number"
	case v.Kind() == reflect.String:
		return "string"
	case v.Kind() == reflect.Slice:
		return "array"
	case v.Kind() == reflect.Map:
		return "object"
	}
	return fmt.Sprintf("a %s", v.Kind())
}
