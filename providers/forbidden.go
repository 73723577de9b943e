package providers

import (
	"fmt"
	"reflect"

	"github.com/itchyny/gojq"
)

// forbiddenFunctions would make an expression depend on more than the event, or reach beyond it. A retry, a reset and a
// replay must all compute the same.
var forbiddenFunctions = map[string]string{
	"env": "reads the environment", "$ENV": "reads the environment",
	"input": "reads other input", "inputs": "reads other input", "input_filename": "reads other input",
	"input_line_number": "reads other input", "$__loc__": "depends on the file",
	"now": "depends on the clock", "localtime": "depends on the time zone", "strflocaltime": "depends on the time zone",
	"debug": "writes to the log", "stderr": "writes to the log",
	"halt": "stops the evaluation", "halt_error": "stops the evaluation",
	"get_search_list": "reads modules", "modulemeta": "reads modules",
	"setpath": "can take memory without bound", "getpath": "hides what is read",
}

// forbidden says why the query cannot be part of a definition; "" if it can.
func forbidden(query *gojq.Query) string {
	if len(query.Imports) > 0 || query.Meta != nil {
		return "modules cannot be used"
	}
	reason := ""
	walk(reflect.ValueOf(query), func(f *gojq.Func) {
		if why, ok := forbiddenFunctions[f.Name]; ok && reason == "" {
			reason = fmt.Sprintf("%s cannot be used: it %s", f.Name, why)
		}
	})
	return reason
}

// walk calls visit for every function and variable in the query.
func walk(v reflect.Value, visit func(*gojq.Func)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if f, ok := v.Interface().(*gojq.Func); ok {
			visit(f)
		}
		walk(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}
