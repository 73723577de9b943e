package eventtype

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSteps bounds a check. A step is a value that a schema is applied to, some of a pattern's work, or part of a list.
	maxSteps = 250_000
	// maxPattern is in bytes; maxProgram bounds all patterns of a schema together, in instructions.
	maxPattern = 1000
	maxProgram = 20_000
	// perStep is how many instructions are executed in the time of a step.
	perStep = 64
)

// meter bounds the work of a check, since references can make a small schema apply itself to a value more often than a program
// can count. It serves one check at a time.
type meter struct {
	mu   sync.Mutex
	left int
	// program has the length of each pattern of the schema.
	program map[string]int
}

func newMeter() *meter { return &meter{program: map[string]int{}} }

// exhausted is what a check panics with when it has no steps left; the library can't be stopped otherwise.
type exhausted struct{}

func (m *meter) spend(steps int) {
	if m.left -= steps; m.left < 0 {
		panic(exhausted{})
	}
}

// within runs a check, and reports whether it ended within its steps.
func (m *meter) within(check func()) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			if _, isOurs := r.(exhausted); !isOurs {
				panic(r)
			}
			ok = false
		}
	}()
	m.left = maxSteps
	check()
	return true
}

// attach makes every schema that can be reached spend a step, by way of its format, which is checked before anything that may
// apply further schemas.
func (m *meter) attach(root *jsonschema.Schema) {
	seen := map[*jsonschema.Schema]bool{}
	for next := []*jsonschema.Schema{root}; len(next) > 0; {
		s := next[len(next)-1]
		next = next[:len(next)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		metered := &jsonschema.Format{Validate: func(v any) error {
			m.spend(stepsOf(v))
			return nil
		}}
		if inner := s.Format; inner != nil {
			metered = &jsonschema.Format{Name: inner.Name, Validate: func(v any) error {
				m.spend(stepsOf(v))
				return inner.Validate(v)
			}}
		}
		s.Format = metered
		next = append(next, below(s)...)
	}
}

func stepsOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return 1 + len(v)
	case []any:
		return 1 + len(v)
	case string:
		return 1 + len(v)/perStep
	}
	return 1
}

// below returns the schemas that a schema applies.
func below(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
		s.ContentSchema,
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	if more, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		all = append(all, more)
	}
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, dependency := range s.Dependencies {
		if one, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, one)
		}
	}
	return all
}

// pattern compiles a pattern in the syntax of RE2, which matches in linear time.
func (m *meter) pattern(text string) (jsonschema.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a pattern has up to %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("patterns have the syntax of RE2: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	m.program[text] = len(program.Inst)
	total := 0
	for _, length := range m.program {
		total += length
	}
	if total > maxProgram {
		return nil, fmt.Errorf("the patterns are too large: use maxLength in place of repeats such as {1,1000}")
	}
	return &meteredPattern{compiled, len(program.Inst), m}, nil
}

// meteredPattern spends steps for the longest time that a match can take.
type meteredPattern struct {
	*regexp.Regexp

	length int
	meter  *meter
}

// MatchString reports whether a text has a match.
func (p *meteredPattern) MatchString(text string) bool {
	p.meter.spend(1 + p.length*len(text)/perStep)
	return p.Regexp.MatchString(text)
}
