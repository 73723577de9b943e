package ingress

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The log rate for a provider's refusals with one reason: strangers must not be able to fill the log.
const (
	refusalLinesPerSecond = 10
	refusalLinesAtOnce    = 100
)

// refusalLines limit the log lines about refused requests. The metric counts all of them.
type refusalLines struct {
	mu   sync.Mutex
	kept map[refusalKind]*refusalLine
}

// refusalKind groups refusals. Both parts are our own words, so there are few.
type refusalKind struct{ provider, reason string }

type refusalLine struct {
	budget     *rate.Limiter
	suppressed int
}

// allow reports whether one more line may be logged, and how many of its kind were dropped since the last one.
func (l *refusalLines) allow(kind refusalKind, now time.Time) (ok bool, suppressed int) {
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
		line.suppressed++
		return false, 0
	}
	suppressed, line.suppressed = line.suppressed, 0
	return true, suppressed
}
