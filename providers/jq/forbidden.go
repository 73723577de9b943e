package jq

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// forbiddenFunctions would make an expression depend on more than the event, or have effects. A retry, a reset and a replay
// must all compute the same. Others can't be bounded.
var forbiddenFunctions = map[string]string{
	"env": "reads the environment", "$ENV": "reads the environment",
	"input": "reads other input", "inputs": "reads other input", "input_filename": "reads other input",
	"input_line_number": "reads other input", "$__loc__": "depends on the file",
	"now": "depends on the clock", "localtime": "depends on the time zone", "strflocaltime": "depends on the time zone",
	"debug": "writes to the log", "stderr": "writes to the log",
	"halt": "stops the evaluation", "halt_error": "stops the evaluation",
	"get_search_list": "reads modules", "modulemeta": "reads modules",
	"getpath": "hides what is read",
	"setpath": takesMemory, "pick": takesMemory, "fromstream": takesMemory, "combinations": takesMemory,
	"transpose": takesMemory,
}

const takesMemory = "can take memory without bound"

// maxPlace is the highest array index that an assignment can name.
const maxPlace = 10_000

// forbidden returns why the query is not allowed in a definition; "" if it is.
func forbidden(query *gojq.Query) string {
	if len(query.Imports) > 0 || query.Meta != nil {
		return "modules cannot be used"
	}
	reason := ""
	walk(reflect.ValueOf(query), func(node any) {
		if reason == "" {
			reason = forbiddenNode(node)
		}
	})
	return reason
}

func forbiddenNode(node any) string {
	switch node := node.(type) {
	case *gojq.Func:
		return forbiddenCall(node)
	case *gojq.FuncDef:
		if strings.HasPrefix(node.Name, "_") {
			return fmt.Sprintf("%s cannot be used: names that begin with _ are jq's own", node.Name)
		}
	case *gojq.Query:
		if isUpdate(node.Op) {
			return forbiddenPlace(node.Left)
		}
	}
	return ""
}

func forbiddenCall(f *gojq.Func) string {
	if why, ok := forbiddenFunctions[f.Name]; ok {
		return fmt.Sprintf("%s cannot be used: it %s", f.Name, why)
	}
	if strings.HasPrefix(strings.TrimPrefix(f.Name, "$"), "_") {
		return fmt.Sprintf("%s cannot be used: names that begin with _ are jq's own", f.Name)
	}
	switch f.Name {
	case "test", "match", "capture", "scan", "splits", "sub", "gsub":
	case "split":
		if len(f.Args) == 1 {
			return ""
		}
	default:
		return ""
	}
	if len(f.Args) > 0 && !isLiteral(f.Args[0]) {
		return fmt.Sprintf("the pattern of %s must be a text as it is: one that comes with an event %s", f.Name, takesMemory)
	}
	return ""
}

// forbiddenPlace refuses an assignment that would fill an array up to a distant index.
func forbiddenPlace(left *gojq.Query) (reason string) {
	walk(reflect.ValueOf(left), func(node any) {
		switch node := node.(type) {
		case *gojq.Func:
			if node.Name == "nth" {
				reason = "nth cannot be assigned to: write .[n]"
			}
		case *gojq.Term:
			n, err := strconv.ParseFloat(node.Number, 64)
			if node.Type == gojq.TermTypeNumber && (err != nil || n > maxPlace) {
				reason = fmt.Sprintf("an assignment cannot fill an array up to %s: want at most %d", node.Number, maxPlace)
			}
		}
	})
	return reason
}
