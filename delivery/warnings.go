package delivery

import (
	"fmt"
	"slices"
	"strings"
)

// Warnings reports likely mistakes in a selection: providers missing from known, the defined ones, and unsupported wildcards.
func (e Events) Warnings(known []string) (warnings []string) {
	for _, name := range e.Providers {
		if !slices.Contains(known, name) {
			warnings = append(warnings,
				fmt.Sprintf("events.providers: no definition is called %q; list them with: holdfast provider list", name))
		}
	}
	for _, pattern := range e.Types {
		if strings.ContainsAny(pattern, "?[]{}") {
			warnings = append(warnings, fmt.Sprintf("events.types: %q: * is the only wildcard; other characters match literally", pattern))
		}
	}
	return warnings
}
