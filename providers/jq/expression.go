package jq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"holdfast/event"
)

// Deadline is shared by all expressions of one request or one parse.
const Deadline = time.Second

// maxDeadline is the deadline for the largest bodies.
const maxDeadline = 10 * time.Second

// DeadlineOf is Deadline for a body of n bytes: those above 32 KiB have more time, since they may name thousands of things.
func DeadlineOf(n int) time.Duration {
	return min(Deadline+time.Duration(n/(32<<10))*Deadline, maxDeadline)
}

// maxOutputs is the maximum number of values of one expression.
const maxOutputs = 10_000

// Expression is compiled jq. A nil expression returns nothing.
type Expression struct {
	// Field is its place in its definition, Source its text.
	Field, Source string
	code          *gojq.Code
	// Dependencies is what it reads of its input.
	Dependencies Dependencies
	// Names is the path to the value if the expression is nothing else (.body.id): then it is looked up without jq.
	Names []string
	// Paths are the paths that the expression reads if it is one of them, or a choice of several (.body.id // .body.uuid), each
	// perhaps followed by a pipe; nil for any other expression.
	Paths [][]string
}

// Input is the input of one event's expressions.
type Input struct {
	// Value is {headers, query, path, body}, with fetched if a state was fetched, Root the envelope of the event's batch, or nil.
	Value map[string]any
	Root  any
	// Source is the uncut source of the event: it may be the scope of entities.
	Source string
}

// NewInput returns the input for the expressions of an event: what is kept of its request, its body, and the envelope of its
// batch.
func NewInput(headers, query, path map[string]string, body, root any) Input {
	return Input{Root: root, Value: map[string]any{
		"headers": values(headers), "query": values(query), "path": values(path), "body": body,
	}}
}

// nothing is an empty part. Expressions never modify their input.
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

// Compile compiles the source of a field; nil for "". The error says why the source is invalid.
func Compile(field, source string) (*Expression, error) {
	return compile(field, source, func(*gojq.Query) {})
}

// compile applies change to the query before it is metered.
func compile(field, source string, change func(*gojq.Query)) (*Expression, error) {
	if source == "" {
		return nil, nil
	}
	query, err := parse(source)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, hint(source, err))
	}
	if reason := forbidden(query); reason != "" {
		return nil, errors.New(reason)
	}
	if reason := badPattern(query); reason != "" {
		return nil, errors.New(reason)
	}
	x := &Expression{Field: field, Source: source, Dependencies: dependenciesOf(query), Names: namesOf(query), Paths: pathsOf(query)}
	change(query)
	if x.code, err = compileMetered(query); err != nil {
		return nil, fmt.Errorf("does not compile: %w%s", err, hint(source, err))
	}
	return x, nil
}

// errTooMany means that an expression returned too many values.
var errTooMany = errors.New("too many values")

// All returns the values of the expression, at most maxOutputs of them. An error is context.DeadlineExceeded, errTooMany,
// errTooCostly, errNull, or errEvaluation, which has jq's message without the values, because those are from the payload.
func (x *Expression) All(ctx context.Context, in Input, item any) (out []any, err error) {
	err = x.each(ctx, in, item, func(v any) bool {
		out = append(out, v)
		return len(out) <= maxOutputs
	})
	switch {
	case err != nil:
		return nil, err
	case len(out) > maxOutputs:
		return nil, errTooMany
	}
	return out, nil
}

// First returns the first value of the expression, nil if there is none. The rest isn't computed.
func (x *Expression) First(ctx context.Context, in Input, item any) (first any, err error) {
	err = x.each(ctx, in, item, func(v any) bool {
		first = v
		return false
	})
	return first, err
}

// Once is First for an expression that is evaluated alone.
func (x *Expression) Once(in Input) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	return x.First(ctx, in, nil)
}

// each calls yield with the values until it returns false.
func (x *Expression) each(ctx context.Context, in Input, item any, yield func(any) bool) error {
	return x.run(newMeter(ctx), in, item, yield)
}

func (x *Expression) run(m *meter, in Input, item any, yield func(any) bool) (err error) {
	if x == nil {
		return nil
	}
	if x.Names != nil {
		v, err := lookUp(in.Value, x.Names)
		if err == nil {
			yield(v)
		}
		return err
	}
	defer func() {
		if recover() != nil {
			err = errEvaluation
		}
	}()
	iter := x.code.RunWithContext(m, in.Value, in.Root, item, m)
	for {
		v, ok := iter.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			return x.failureOf(err)
		}
		if !yield(v) {
			return nil
		}
	}
}

// namesOf returns the names in a query such as .body.id; nil for any other.
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

// pathsOf returns the paths that a query reads; nil if it isn't as simple as Expression.Paths says.
func pathsOf(q *gojq.Query) [][]string {
	switch {
	case q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
		return nil
	case q.Op == gojq.OpPipe:
		return pathsOf(q.Left)
	case q.Op == gojq.OpAlt:
		left, right := pathsOf(q.Left), pathsOf(q.Right)
		if left == nil || right == nil {
			return nil
		}
		return append(left, right...)
	case q.Op == 0 && q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0:
		return pathsOf(q.Term.Query)
	}
	if names := namesOf(q); names != nil {
		return [][]string{names}
	}
	return nil
}

// lookUp does what jq does with such a query: nil has no fields, and neither has a value that isn't an object.
func lookUp(v any, names []string) (any, error) {
	for _, name := range names {
		switch object := v.(type) {
		case nil:
			return nil, nil
		case map[string]any:
			v = object[name]
		default:
			return nil, &evaluationError{"expected an object but got: " + gojq.TypeOf(v)}
		}
	}
	return v, nil
}

// failureOf converts an error of jq.
func (x *Expression) failureOf(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return context.DeadlineExceeded
	}
	for _, known := range []error{errTooCostly, errNull} {
		if errors.Is(err, known) {
			return known
		}
	}
	if reason := reasonOf(err, x.Source); reason != "" {
		return &evaluationError{reason}
	}
	return errEvaluation
}

// IsTooMany reports whether an expression gave too many values.
func IsTooMany(err error) bool { return errors.Is(err, errTooMany) }

// IsDeadline reports whether the error is the only failure that isn't caused by the event.
func IsDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// Failed converts the error of an expression into an error of the definition, with jq's message and the types of the values.
func (x *Expression) Failed(err error) *event.Error {
	code := "jq_failed"
	var failed *evaluationError
	switch {
	case errors.As(err, &failed):
		e := x.Fail(code)
		e.Text = failed.reason + ": " + e.Text
		return e
	case IsDeadline(err):
		code = "jq_deadline"
	case errors.Is(err, errTooMany):
		code = "jq_too_many_values"
	case errors.Is(err, errTooCostly):
		code = "jq_too_costly"
	case errors.Is(err, errNull):
		code = "jq_null"
	}
	return x.Fail(code)
}

// Fail returns an error of the definition that names only its field.
func (x *Expression) Fail(code string) *event.Error {
	return &event.Error{Class: event.ClassFailed, Code: code, Text: event.EvaluateField + x.Field}
}

// Reject returns an error of an event for which the expression returned an invalid value. It names the field.
func (x *Expression) Reject(code, why string) *event.Error {
	return event.Rejectf(code, "%s: %s%s", why, event.EvaluateField, x.Field)
}

// Gave describes what an expression gave that identifies nothing, without showing the value: ".body.id gave null", or jq's reason
// if it failed.
func (x *Expression) Gave(v any, err error) string {
	var failed *evaluationError
	switch {
	case err == nil:
		return x.shortSource() + " gave " + Kind(v)
	case errors.As(err, &failed):
		return x.shortSource() + " failed, which counts as nothing: " + failed.reason
	}
	return x.shortSource() + " failed, which counts as nothing: " + err.Error()
}

// GaveNothing is Gave for an expression without any value.
func (x *Expression) GaveNothing() string { return x.shortSource() + " gave nothing" }

// NoValue is Gave with the field, as the end of an error.
func (x *Expression) NoValue(v any, err error) string {
	return x.Gave(v, err) + ": " + event.EvaluateField + x.Field
}

// maxShown is how many characters of a source an explanation shows.
const maxShown = 120

// shortSource returns the source on one line, and the beginning of a long one.
func (x *Expression) shortSource() string {
	source := strings.Join(strings.Fields(x.Source), " ")
	if runes := []rune(source); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return source
}

// Marshal returns the JSON of an expression's value, unless it is much longer than limit.
func Marshal(v any, limit int) ([]byte, error) {
	if !isShort(v, limit) {
		return nil, errTooCostly
	}
	return gojq.Marshal(v)
}
