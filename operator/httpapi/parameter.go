package httpapi

import (
	"strings"

	"holdfast/internal/word"
)

// Parameter is a parameter of a path or of a query.
type Parameter struct {
	Name, About string
	// Schema is the JSON schema of its values.
	Schema map[string]any
}

// TextParameter returns a parameter with any text.
func TextParameter(name, about string) Parameter {
	return Parameter{name, about, map[string]any{"type": "string"}}
}

// UUIDParameter returns a parameter with an ID.
func UUIDParameter(name, about string) Parameter {
	return Parameter{name, about, map[string]any{"type": "string", "format": "uuid"}}
}

// TimeParameter returns a parameter that Query.Time parses. about is completed by the forms of a time.
func TimeParameter(name, about string) Parameter {
	return Parameter{name, strings.TrimSuffix(about, ".") + ": " + word.TimeForms + ".", map[string]any{
		"type": "string", "examples": []string{"2026-11-21T09:00:00Z", "24h"},
	}}
}

// ChoiceParameter returns a parameter with one of the values, as Choose parses it.
func ChoiceParameter[T ~string](name, about string, all []T) Parameter {
	return Parameter{name, about, map[string]any{"type": "string", "enum": all}}
}

// The parameters that many routes have.
var (
	ProviderParameter = TextParameter("provider", "Name of the provider.")
	SourceParameter   = TextParameter("source", "Sender within the provider (an instance, an account); needs provider.")
	TypeParameter     = TextParameter("type", "Type of the event.")
	SinceParameter    = TimeParameter("since", "At or after")
	UntilParameter    = TimeParameter("until", "Before")
	CursorParameter   = TextParameter("cursor", "`next` of the previous page.")
	LimitParameter    = Parameter{"limit", "Max number of rows on the page.", map[string]any{
		"type": "integer", "minimum": 1, "maximum": MaxLimit, "default": defaultLimit,
	}}
)
