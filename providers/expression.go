package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/itchyny/gojq"

	"holdfast/event"
)

// The bounds of one evaluation, beside its budget. The deadline is for all expressions of one request or one parse together.
const (
	evaluationDeadline = time.Second
	maxOutputs         = 1000
)

// expression is compiled jq. A nil expression gives nothing.
type expression struct {
	field  string
	source string
	code   *gojq.Code
	reads  reads
	// names is the way to the value where the expression is nothing but that (.body.id): then it is looked up without jq.
	names []string
}

// input is what the expressions of one event see.
type input struct {
	value map[string]any
	root  any
	// source is that of the event, uncut: entities may be scoped by it.
	source string
}

// newInput is what the expressions of an event see: what is kept of its request, its body, and the envelope of its batch.
func newInput(headers, query, path map[string]string, body, root any) input {
	return input{root: root, value: map[string]any{
		"headers": values(headers), "query": values(query), "path": values(path), "body": body,
	}}
}

// nothing is what is kept of a part that has nothing. Expressions never change what they see.
var nothing = map[string]any{}

func values(m map[string]string) map[string]any {
	if len(m) == 0 {
		return nothing
	}
	out := make(map[string]any, len(m))
	for name, value := range maps.All(m) {
		out[name] = value
	}
	return out
}

// compileExpression compiles the source of a field; nil for "". The error says why it cannot be used.
func compileExpression(field, source string) (*expression, error) {
	if source == "" {
		return nil, nil
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("is not jq: %w", err)
	}
	if reason := forbidden(query); reason != "" {
		return nil, errors.New(reason)
	}
	x := &expression{field: field, source: source, reads: readsOf(query), names: namesOf(query)}
	if x.code, err = compileMetered(query); err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return x, nil
}

// errTooMany says that an expression gave more values than are taken.
var errTooMany = errors.New("too many values")

// all gives the values of the expression, at most maxOutputs of them. An error is context.DeadlineExceeded, errTooMany,
// errTooCostly, or errEvaluation: the text of jq's own errors repeats values of the payload, so it goes no further than here.
func (x *expression) all(ctx context.Context, in input) (out []any, err error) {
	if x == nil {
		return nil, nil
	}
	if x.names != nil {
		v, err := lookUp(in.value, x.names)
		if err != nil {
			return nil, err
		}
		return []any{v}, nil
	}
	defer func() {
		if recover() != nil {
			out, err = nil, errEvaluation
		}
	}()
	m := newMeter(ctx)
	iter := x.code.RunWithContext(m, in.value, in.root, nil, m)
	for {
		v, ok := iter.Next()
		if !ok {
			return out, nil
		}
		if err, ok := v.(error); ok {
			return nil, evaluationError(err)
		}
		if len(out) == maxOutputs {
			return nil, errTooMany
		}
		out = append(out, v)
	}
}

// first gives the first value of the expression, nil if there is none. The rest is not computed.
func (x *expression) first(ctx context.Context, in input, item any) (v any, err error) {
	if x == nil {
		return nil, nil
	}
	if x.names != nil {
		return lookUp(in.value, x.names)
	}
	defer func() {
		if recover() != nil {
			v, err = nil, errEvaluation
		}
	}()
	m := newMeter(ctx)
	v, _ = x.code.RunWithContext(m, in.value, in.root, item, m).Next()
	if err, ok := v.(error); ok {
		return nil, evaluationError(err)
	}
	return v, nil
}

// namesOf gives the names that a query such as .body.id consists of; nil for any other.
func namesOf(q *gojq.Query) []string {
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 {
		return nil
	}
	first, ok := constant(q.Term.Index)
	rest := fixedPath(q.Term.SuffixList)
	if !ok || len(rest) < len(q.Term.SuffixList) {
		return nil
	}
	return append([]string{first}, rest...)
}

// lookUp is what jq does with such a query: nothing has no fields, and neither has what is no object.
func lookUp(v any, names []string) (any, error) {
	for _, name := range names {
		switch object := v.(type) {
		case nil:
			return nil, nil
		case map[string]any:
			v = object[name]
		default:
			return nil, errEvaluation
		}
	}
	return v, nil
}

// errEvaluation says that an expression failed on this input.
var errEvaluation = errors.New("expression failed")

func evaluationError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return context.DeadlineExceeded
	}
	if errors.Is(err, errTooCostly) {
		return errTooCostly
	}
	return errEvaluation
}

// isDeadline tells the one failure that says nothing about the event.
func isDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// failed turns the error of an expression into that of the definition.
func (x *expression) failed(err error) *event.Error {
	code := "jq_failed"
	switch {
	case isDeadline(err):
		code = "jq_deadline"
	case errors.Is(err, errTooMany):
		code = "jq_too_many_values"
	case errors.Is(err, errTooCostly):
		code = "jq_too_costly"
	}
	return x.fail(code)
}

// fail is an error of the definition, told by the field alone.
func (x *expression) fail(code string) *event.Error {
	return &event.Error{Class: event.ClassFailed, Code: code, Text: "evaluate " + x.field}
}

// marshal is the JSON of what an expression gave, if it is not much longer than limit.
func marshal(v any, limit int) ([]byte, error) {
	if !isShort(v, limit) {
		return nil, errTooCostly
	}
	return gojq.Marshal(v)
}
