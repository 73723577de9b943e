package delivery

import (
	"fmt"
	"slices"
	"strings"
)

// Warnings names what is probably a mistake in a selection: providers without a definition, known being those with one, and
// patterns with wildcards that aren't any here.
func (e Events) Warnings(known []string) (warnings []string) {
	for _, name := range e.Providers {
		if !slices.Contains(known, name) {
			warnings = append(warnings,
				fmt.Sprintf("events.providers: no definition is called %q; list them with: holdfast provider list", name))
		}
	}
	for _, pattern := range e.Types {
		if strings.ContainsAny(pattern, "?[]{}") {
			warnings = append(warnings, fmt.Sprintf("events.types: %q is taken literally but for *, the only wildcard", pattern))
		}
	}
	return warnings
}
