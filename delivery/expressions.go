package delivery

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdfast/event"
	"holdfast/providers/jq"
)

// expressionBudget limits one expression for one event. It counts steps instead of time, so that load on the machine can't fail
// an expression.
var expressionBudget = jq.Budget{Steps: 500_000, Cost: 32 << 20}

const maxExpressions = 10_000

// Expressions caches compiled jq and evicts the least recently used. It is safe for concurrent use.
type Expressions struct {
	compiled *lru.Cache[compilation, *jq.Expression]
}

// compilation is a cache key; names is set for expressions compiled with jq.CompileName.
type compilation struct {
	source JQ
	names  bool
}

// NewExpressions returns an empty cache.
func NewExpressions() *Expressions {
	cache, err := lru.New[compilation, *jq.Expression](maxExpressions)
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return &Expressions{cache}
}

// First returns the first value of an expression, nil if there is none. The error is an *event.Error that names the field and
// repeats nothing of the input.
func (e *Expressions) First(ctx context.Context, field string, source JQ, in jq.Input) (any, error) {
	return e.first(ctx, field, compilation{source: source}, jq.Compile, in)
}

// Name is First for an expression that builds a name: it fails with jq_null where null would become part of the name.
func (e *Expressions) Name(ctx context.Context, field string, source JQ, in jq.Input) (any, error) {
	return e.first(ctx, field, compilation{source: source, names: true}, jq.CompileName, in)
}

func (e *Expressions) first(
	ctx context.Context, field string, c compilation, compile func(field, source string) (*jq.Expression, error), in jq.Input,
) (any, error) {
	x, ok := e.compiled.Get(c)
	if !ok {
		var err error
		if x, err = compile("", string(c.source)); err != nil {
			return nil, event.Rejectf("jq_invalid", "%s %v", field, err)
		}
		e.compiled.Add(c, x)
	}
	value, err := x.FirstWithin(ctx, in, expressionBudget)
	if err != nil {
		failed := x.Failed(err)
		failed.Text = "evaluate " + field
		return nil, failed
	}
	return value, nil
}

// BuildFailure is the result if the event can't be turned into a request. Only a deadline isn't the event's fault.
func BuildFailure(code string, err error) Result {
	var failed *event.Error
	if errors.As(err, &failed) && failed.Code == "jq_deadline" {
		return Result{Kind: Ours, Code: failed.Code, Error: err.Error()}
	}
	return Result{Kind: Final, Code: code, Error: err.Error()}
}
