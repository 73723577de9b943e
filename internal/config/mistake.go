package config

import (
	"errors"
	"fmt"
	"slices"
)

// VariableError is one thing that is wrong with one variable.
type VariableError struct {
	// Variable is its name.
	Variable string
	// Problem continues the sentence that the name begins. It never holds the value of a secret.
	Problem string
	// Example is a value that would do; "" if there is none to give.
	Example string
}

// Error is "NAME problem (example: NAME=value)".
func (e *VariableError) Error() string {
	if e.Example == "" {
		return fmt.Sprintf("%s %s", e.Variable, e.Problem)
	}
	return fmt.Sprintf("%s %s (example: %s=%s)", e.Variable, e.Problem, e.Variable, e.Example)
}

// mistakes gathers what is wrong, so that it can be reported at once.
type mistakes []error

// add notes a mistake. Only the first one of a variable is kept: a value that could not be read is its zero value
// afterwards, and what validation says of that would mislead.
func (m *mistakes) add(variable, problem, example string) {
	if !m.has(variable) {
		*m = append(*m, &VariableError{Variable: variable, Problem: problem, Example: example})
	}
}

// addError adds what a function that reads one variable has found.
func (m *mistakes) addError(err error) {
	var e *VariableError
	if errors.As(err, &e) {
		m.add(e.Variable, e.Problem, e.Example)
	}
}

func (m *mistakes) has(variable string) bool {
	return slices.ContainsFunc(*m, func(err error) bool {
		var e *VariableError
		return errors.As(err, &e) && e.Variable == variable
	})
}

// join is nil if nothing is wrong.
func (m *mistakes) join() error { return errors.Join(*m...) }
