package ingress

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A provider's refusals for one reason get this many lines in the log: strangers must not be able to fill it, and nobody reads
// more.
const (
	refusalLinesPerSecond = 10
	refusalLinesAtOnce    = 100
)

// refusalLines bound what the log has of requests that were refused. The metric counts each of them.
type refusalLines struct {
	mu   sync.Mutex
	kept map[refusalKind]*refusalLine
}

// refusalKind tells refusals apart; both parts are our own words, so there are few.
type refusalKind struct{ provider, reason string }

type refusalLine struct {
	budget  *rate.Limiter
	leftOut int
}

// take says whether there is room for one more line, and how many of its kind were left out since the last one.
func (l *refusalLines) take(kind refusalKind, now time.Time) (ok bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.kept[kind]
	if line == nil {
		if l.kept == nil {
			l.kept = map[refusalKind]*refusalLine{}
		}
		line = &refusalLine{budget: rate.NewLimiter(refusalLinesPerSecond, refusalLinesAtOnce)}
		l.kept[kind] = line
	}
	if !line.budget.AllowN(now, 1) {
		line.leftOut++
		return false, 0
	}
	leftOut, line.leftOut = line.leftOut, 0
	return true, leftOut
}
