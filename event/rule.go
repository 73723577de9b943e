package event

import "strings"

// EvaluateField begins the text of an error of an expression, and the field of the definition ends it.
const EvaluateField = "evaluate "

// maxRule is how long the name of a field may be, in bytes: an index holds it.
const maxRule = 200

// Rule is the field of the definition that the failure names, as "entities[0].id"; "" if it names none.
func (f Failure) Rule() string {
	if !strings.HasPrefix(f.Code, "jq_") && !strings.HasPrefix(f.Code, "bad_") {
		return ""
	}
	_, field, _ := strings.Cut(f.Message, ": "+EvaluateField)
	if strings.Contains(field, " ") || len(field) > maxRule {
		return ""
	}
	return field
}
