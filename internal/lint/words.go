package lint

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
	"holdfast/providers/receiving"
)

// keyOrigin describes where a key came from.
func keyOrigin(e *ExplainedEvent) string {
	switch {
	case e.OfValue:
		return "from the SHA-256 of the JSON value of the body, alone or with the parts of the key"
	case e.KeyFrom == event.KeyFromBody:
		return "from the SHA-256 of the body, alone or with the parts of the key"
	case e.KeyFrom == event.KeyFromNothing:
		return "nothing: the parts gave no value, and there is no fallback"
	default:
		return "from the parts of the key"
	}
}

func explainPart(part mapping.ExplainedPart) string {
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

func occurred(e *ExplainedEvent) string {
	at := e.OccurredAt.Format(time.RFC3339Nano)
	if e.OccurredFrom == "" {
		return at + ", the time of the receipt: no expression gave a plausible one"
	}
	return at + ", from " + e.OccurredFrom
}

func lane(l definition.Lane) string {
	if l == definition.LaneBulk {
		return "bulk: the inbox takes it, and a batch processes it with others"
	}
	return "a workflow of its own"
}

// duplicates says for how long a redelivery is a duplicate. Without a key, the definition's window doesn't apply.
func duplicates(e *ExplainedEvent) string {
	if e.KeyFrom == event.KeyFromNothing {
		return window(e.DedupeWindow) + ", because the key is missing"
	}
	return window(e.DedupeWindow)
}

func window(d event.Duration) string {
	if d == 0 {
		return "forever"
	}
	return "for " + spell(d)
}

// spell writes a duration as a definition does, and drops what is zero.
func spell(d event.Duration) string {
	const day = 24 * time.Hour
	if whole := time.Duration(d); whole >= day && whole%day == 0 {
		return strconv.Itoa(int(whole/day)) + "d"
	}
	return word.Duration(time.Duration(d))
}

// retries describes the schedule of executions, without jitter.
func retries(p event.Policy) string {
	text := "1 attempt of " + spell(p.Timeout)
	if p.Attempts > 1 {
		pauses, total := schedule(p)
		text = fmt.Sprintf("%d attempts of %s each: at once, then after %s (%s in all, ± %g %%)", p.Attempts, spell(p.Timeout),
			strings.Join(pauses, ", "), spell(total), p.Jitter*100)
	}
	if p.FailOnTimeout {
		text += "; one that takes longer fails permanently"
	}
	return text
}

// schedule lists every pause between two attempts; consecutive equal ones are counted.
func schedule(p event.Policy) (pauses []string, total event.Duration) {
	for n := 1; n < p.Attempts; {
		pause, times := p.Pause(n), 0
		for ; n < p.Attempts && p.Pause(n) == pause; n++ {
			times++
			total += pause
		}
		text := spell(pause)
		if times > 1 {
			text = fmt.Sprintf("%d × %s", times, text)
		}
		pauses = append(pauses, text)
	}
	return pauses, total
}

func question(q *ExplainedQuestion) string {
	if q.Handler == "" {
		return "answered with " + q.Fallback
	}
	return fmt.Sprintf("answered by the handler at %s within %s, or else with %s", q.Handler, spell(q.Deadline), q.Fallback)
}

// Limits describes the rates of a definition. Processes share those that aren't of one address.
func Limits(p *providers.Provider) string {
	var parts []string
	add := func(r *receiving.Rate, of string) {
		if r != nil {
			parts = append(parts, fmt.Sprintf("%d requests in %s%s", r.Requests, spell(r.Per), of))
		}
	}
	add(p.Rate(), "")
	add(p.SourceRate(), " from one source")
	add(p.ClientRate(), " from one address to one process")
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Replaying is how an installation replays dead events whose definition doesn't say otherwise: how long after the failure at
// first, and how often. Off leaves all of them to operators.
type Replaying struct {
	Base     time.Duration
	Attempts int
	Off      bool
}

// ReplayOf describes the automatic replay of dead events.
func ReplayOf(p *providers.Provider, otherwise Replaying) string {
	r := p.Replay()
	if r.Off || otherwise.Off {
		return "by operators only"
	}
	base, attempts, classes := cmp.Or(r.Base, event.Duration(otherwise.Base)), cmp.Or(r.Attempts, otherwise.Attempts), ""
	if len(r.Classes) > 0 {
		classes = fmt.Sprintf(", if it was one of %v", r.Classes)
	}
	return fmt.Sprintf("automatically after %s, then each time after twice as long, up to %d times%s", spell(base), attempts,
		classes)
}
