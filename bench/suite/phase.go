package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Phase is one part of a run, with its own figures.
type Phase struct {
	Name, About string
	// Long phases run only with --long or if named.
	Long bool
	// Counts marks a phase that needs a server which counts pages and statements.
	Counts bool
	Run    func(ctx context.Context, s *Suite) error
}

// NamesOf returns the names of the phases that are long, or of the others.
func NamesOf(all []Phase, long bool) (names []string) {
	for _, p := range all {
		if p.Long == long {
			names = append(names, p.Name)
		}
	}
	return names
}

// chosen returns the phases of a run.
func chosen(o Options, all []Phase) ([]Phase, error) {
	known := append(NamesOf(all, false), NamesOf(all, true)...)
	for _, name := range o.Phases {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no phase %q; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p Phase) bool {
		if len(o.Phases) > 0 {
			return !slices.Contains(o.Phases, p.Name)
		}
		return p.Long && !o.Long
	}), nil
}
