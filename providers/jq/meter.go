package jq

import (
	"context"
	"errors"
	"math/big"
)

// The budget of one evaluation. A step is one instruction of jq's machine; a unit of cost is about a byte that is copied, read
// or kept.
const (
	maxSteps = 3_000_000
	maxCost  = 64 << 20
)

// errTooCostly means that an evaluation has exhausted its budget. It is the same for the same input every time, whereas a
// deadline depends on the machine.
var errTooCostly = errors.New("too costly")

// meter is the context of one evaluation. jq's machine checks it before every step.
type meter struct {
	context.Context

	done  <-chan struct{}
	steps int
	cost  int
}

func newMeter(ctx context.Context) *meter {
	return newMeterOf(ctx, Budget{Steps: maxSteps, Cost: maxCost})
}

func newMeterOf(ctx context.Context, b Budget) *meter {
	return &meter{Context: ctx, done: ctx.Done(), steps: b.Steps, cost: b.Cost}
}

// Done returns a channel that is closed once the budget is exhausted or the deadline has passed.
func (m *meter) Done() <-chan struct{} {
	if m.steps--; m.steps < 0 {
		return closed
	}
	return m.done
}

// Err returns why it is closed.
func (m *meter) Err() error {
	if m.steps < 0 {
		return errTooCostly
	}
	return m.Context.Err()
}

// closed is the channel of every exhausted meter.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// charge takes a cost from the budget and returns false if it was exceeded. Then the next step is the last, whatever the
// expression does with the error.
func (m *meter) charge(cost int) bool {
	if m.cost -= cost; m.cost < 0 || cost < 0 {
		m.steps = 0
	}
	return m.steps > 0
}

// maxValueDepth is the maximum nesting of a value that an expression makes.
const maxValueDepth = 1000

// perValue is the cost of a value in addition to its text.
const perValue = 32

// size charges for a value with everything in it and returns its cost. Shared parts count each time, as they do for a reader.
func (m *meter) size(v any) int {
	before := m.cost
	s := scale{left: m.cost, perValue: perValue}
	if s.weigh(v, 0); s.left < 0 || !m.charge(before-s.left) {
		m.charge(-1)
		return 0
	}
	return before - s.left
}

// scale weighs a value, and stops as soon as it is heavier than left.
type scale struct{ left, perValue int }

func (s *scale) weigh(v any, depth int) {
	if s.left -= s.perValue; depth > maxValueDepth {
		s.left = -1
	}
	switch v := v.(type) {
	case string:
		s.left -= len(v)
	case *big.Int:
		s.left -= v.BitLen() / 8
	case []any:
		for i := 0; i < len(v) && s.left >= 0; i++ {
			s.weigh(v[i], depth+1)
		}
	case map[string]any:
		for name, value := range v {
			if s.left -= s.perValue + len(name); s.left < 0 {
				return
			}
			s.weigh(value, depth+1)
		}
	}
}

// isShort reports whether the JSON of a value is not much longer than limit. It must be checked before writing, because an
// array can be twice in an array that is twice in an array.
func isShort(v any, limit int) bool {
	s := scale{left: limit, perValue: 1}
	s.weigh(v, 0)
	return s.left >= 0
}

// width returns the size of a value without its contents.
func width(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case *big.Int:
		return v.BitLen() / 8
	case []any:
		return perValue * len(v)
	case map[string]any:
		return 2 * perValue * len(v)
	}
	return 0
}
