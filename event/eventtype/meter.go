package eventtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// MaxSteps bounds the checks of a request, which take up to a second. A step is a value that a schema is applied to, or some of
	// the work for a pattern, a list or an enum.
	MaxSteps = 1_000_000
	// maxSteps bounds a check.
	maxSteps = 250_000
	// maxPattern is in bytes; maxProgram bounds all patterns of a schema together, in instructions.
	maxPattern = 1000
	maxProgram = 20_000
	// perStep is how many instructions are executed in the time of a step, namesPerStep how many required names are looked up and
	// reported.
	perStep      = 64
	namesPerStep = 8
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

// within runs a check, and reports whether it ended within its steps, which it takes from those that are left.
func (m *meter) within(left *int, check func()) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	given := max(0, min(*left, maxSteps))
	m.left = given
	defer func() {
		*left -= given - m.left
		if r := recover(); r != nil {
			if _, isOurs := r.(exhausted); !isOurs {
				panic(r)
			}
			ok = false
		}
	}()
	check()
	return true
}

// attach makes every schema that can be reached spend, by way of its format, the steps of what it applies next. A schema whose
// type or enum isn't met never comes to its own format.
func (m *meter) attach(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{}
	for next := []*jsonschema.Schema{root}; len(next) > 0; {
		s := next[len(next)-1]
		next = next[:len(next)-1]
		if s == nil || seen[s] {
			continue
		}
		if s.DynamicRef != nil {
			return errors.New("$dynamicRef isn't supported: use $ref")
		}
		seen[s] = true
		same, values, oneOf := below(s)
		next = slices.Concat(next, same, values, oneOf)
		s.Format = m.metered(s.Format, costs(same), costs(values)+highestCost(oneOf))
	}
	return nil
}

// metered returns a format that spends the steps of the schemas that apply to the same value, and to each value in it.
func (m *meter) metered(format *jsonschema.Format, same, perValue int) *jsonschema.Format {
	validate, name := func(any) error { return nil }, ""
	if format != nil {
		validate, name = format.Validate, format.Name
	}
	if name == "regex" {
		validate = validatePattern
	}
	return &jsonschema.Format{Name: name, Validate: func(v any) error {
		m.spend(stepsOf(v, same, perValue))
		return validate(v)
	}}
}

func stepsOf(v any, same, perValue int) int {
	switch v := v.(type) {
	case map[string]any:
		return 1 + same + len(v)*(1+perValue)
	case []any:
		return 1 + same + len(v)*(1+perValue)
	case string:
		return 1 + same + len(v)/perStep
	}
	return 1 + same
}

// costs returns the steps of applying schemas, apart from what they apply next.
func costs(all []*jsonschema.Schema) (steps int) {
	for _, s := range all {
		if s != nil {
			steps += cost(s)
		}
	}
	return steps
}

func highestCost(all []*jsonschema.Schema) (steps int) {
	for _, s := range all {
		steps = max(steps, cost(s))
	}
	return steps
}

func cost(s *jsonschema.Schema) int {
	compared, names := 0, len(s.Required)
	if s.Enum != nil {
		compared += comparison(s.Enum.Values)
	}
	if s.Const != nil {
		compared += comparison(*s.Const)
	}
	for _, required := range s.DependentRequired {
		names += 1 + len(required)
	}
	return 1 + compared/perStep + names/namesPerStep
}

// comparison returns how long comparing with a value can take, in the unit of instructions. Numbers are parsed each time.
func comparison(with any) (n int) {
	switch with := with.(type) {
	case map[string]any:
		for _, value := range with {
			n += comparison(value)
		}
	case []any:
		for _, value := range with {
			n += comparison(value)
		}
	case json.Number:
		n = perStep
	}
	return 1 + n
}

// below returns the schemas that a schema applies to the same value, those that it applies to each value in it, and those of
// which it applies up to one to each.
func below(s *jsonschema.Schema) (same, values, one []*jsonschema.Schema) {
	same = slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dependency := range s.Dependencies {
		if dependent, ok := dependency.(*jsonschema.Schema); ok {
			same = append(same, dependent)
		}
	}
	values = append(values, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems)
	values = slices.AppendSeq(values, maps.Values(s.PatternProperties))
	if more, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		values = append(values, more)
	}
	return same, values, slices.AppendSeq(slices.Clone(s.PrefixItems), maps.Values(s.Properties))
}

// pattern compiles a pattern of the schema in the syntax of RE2, which matches in linear time.
func (m *meter) pattern(text string) (jsonschema.Regexp, error) {
	parsed, err := parsePattern(text)
	if err != nil {
		return nil, err
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

func parsePattern(text string) (*syntax.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a pattern has up to %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("patterns have the syntax of RE2: %w", err)
	}
	return parsed, nil
}

// validatePattern asserts the format regex of a value. It doesn't compile, which can take thousands of times as long.
func validatePattern(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := parsePattern(text)
	return err
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
