package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers"
)

// keyOrigin says in words where a key came from.
func keyOrigin(e *providers.ExplainedEvent) string {
	switch e.KeyFrom {
	case event.KeyFromBody:
		return "from the SHA-256 of the body, the definition's fallback"
	case event.KeyFromNothing:
		return "from nothing: the parts gave nothing and there is no fallback"
	default:
		return "from the parts of the key"
	}
}

func explainPart(part providers.ExplainedPart) string {
	switch {
	case part.Failed:
		return part.Expr + "  failed, which counts as nothing"
	case part.Value == "" && part.Optional:
		return part.Expr + "  gave nothing, which it may"
	case part.Value == "":
		return part.Expr + "  gave nothing"
	}
	return part.Expr + "  gave " + part.Value
}

func occurred(e *providers.ExplainedEvent) string {
	at := e.OccurredAt.Format(time.RFC3339Nano)
	if e.OccurredFrom == "" {
		return at + ", the time of the receipt: no expression gave a plausible one"
	}
	return at + ", from " + e.OccurredFrom
}

func lane(l providers.Lane) string {
	if l == providers.LaneBulk {
		return "bulk: the inbox takes it, and a batch processes it with others"
	}
	return "a workflow of its own"
}

func window(d event.Duration) string {
	if d == 0 {
		return "for ever"
	}
	return "for " + spell(d)
}

// spell writes whole days as a definition does, and drops what is zero.
func spell(d event.Duration) string {
	const day = 24 * time.Hour
	if whole := time.Duration(d); whole >= day && whole%day == 0 {
		return strconv.Itoa(int(whole/day)) + "d"
	}
	s := strings.TrimSuffix(d.String(), "m0s")
	if s != d.String() {
		s = strings.TrimSuffix(s+"m", "h0m")
		if !strings.HasSuffix(s, "m") {
			s += "h"
		}
	}
	return s
}

func retries(p event.Policy) string {
	pauses := fmt.Sprintf("%s × %g up to %s", spell(p.InitialInterval), p.Coefficient, spell(p.MaximumInterval))
	if len(p.Delays) > 0 {
		var texts []string
		for _, d := range p.Delays {
			texts = append(texts, spell(d))
		}
		pauses = strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%d attempts of %s each, after %s (± %g %%)", p.Attempts, spell(p.Timeout), pauses, p.Jitter*100)
}

func question(q *providers.ExplainedQuestion) string {
	if q.Handler == "" {
		return "answered with " + q.Fallback
	}
	return fmt.Sprintf("answered by the handler at %s within %s, or else with %s", q.Handler, spell(q.Deadline), q.Fallback)
}
