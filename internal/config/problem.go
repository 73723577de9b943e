package config

import (
	"errors"
	"fmt"
	"slices"
)

// VariableError is an error in one variable.
type VariableError struct {
	// Variable is its name.
	Variable string
	// Problem continues the sentence that the name begins. It never contains the value of a secret.
	Problem string
	// Example is a valid value; "" if there is none.
	Example string
}

// Error returns "NAME problem (example: NAME=value)".
func (e *VariableError) Error() string {
	if e.Example == "" {
		return fmt.Sprintf("%s %s", e.Variable, e.Problem)
	}
	return fmt.Sprintf("%s %s (example: %s=%s)", e.Variable, e.Problem, e.Variable, e.Example)
}

// problems collects errors to report them at once.
type problems []error

// add records an error. It keeps only the first one per variable: after a parse error the value is zero, and validation errors
// about that would mislead.
func (m *problems) add(variable, problem, example string) {
	if !m.has(variable) {
		*m = append(*m, &VariableError{Variable: variable, Problem: problem, Example: example})
	}
}

// addError adds the error of a function that reads one variable.
func (m *problems) addError(err error) {
	var e *VariableError
	if errors.As(err, &e) {
		m.add(e.Variable, e.Problem, e.Example)
	}
}

func (m *problems) has(variable string) bool {
	return slices.ContainsFunc(*m, func(err error) bool {
		var e *VariableError
		return errors.As(err, &e) && e.Variable == variable
	})
}

// join returns nil without errors.
func (m *problems) join() error { return errors.Join(*m...) }
