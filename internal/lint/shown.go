package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
	"holdfast/providers/reading"
)

// shown collects what the samples show of a definition.
type shown struct {
	// requests counts the samples that aren't handshakes.
	requests int
	// timed is set once an event has its own time; untimed is one that hasn't although there are expressions.
	timed   bool
	untimed *shownEvent
	// bodies are the decoded bodies of the events.
	bodies []any
	// kept are events that say that a thing is gone, and keep its entity.
	kept []shownEvent
}

type shownEvent struct {
	sample, kind string
	times        []mapping.ExplainedTime
}

func (s *shown) add(sample string, item *reading.Item, e ExplainedEvent) {
	if e.DeadLetter != nil {
		return
	}
	if body, err := decode.JSONExactly(item.Body); err == nil {
		s.bodies = append(s.bodies, body)
	}
	switch {
	case e.OccurredFrom != "" || slices.ContainsFunc(e.times, isTimeOfUnits):
		s.timed = true
	case len(e.times) > 0 && s.untimed == nil:
		s.untimed = &shownEvent{sample: sample, times: e.times}
	}
	if c := keepsDeleted(&e); c != nil {
		s.kept = append(s.kept, shownEvent{sample: sample, kind: c.Kind})
	}
}

// eventOf returns the type that a sample is named after.
func eventOf(sample string) string { return providers.SampleEvent(sample) }

// checkShown compares the definition with what its samples show.
func (l *linter) checkShown() {
	s := &l.shown
	if len(l.written.Samples) > 0 && s.requests == 0 && len(l.written.Challenges) > 0 {
		l.add("challenges", RuleUnreachable, "every sample counts as a handshake, which is answered and not stored: let `when` hold "+
			"only for handshakes")
	}
	if !s.timed && s.untimed != nil {
		for _, t := range s.untimed.times {
			if l.hasFailed(t.Field) {
				continue
			}
			l.add(strings.TrimSuffix(t.Field, ".expr"), RuleUntimed, "gives no time, so that the time of receipt counts: in %q, %s",
				s.untimed.sample, whyNoTime(t))
		}
	}
	for _, e := range s.kept {
		l.add(l.ruleFor(e), RuleUndeleted, "keeps the %s after %q: add the type to `delete_on`, or give the event a rule of its own",
			e.kind, e.sample)
	}
	for i, source := range l.written.Redact {
		l.checkRedacted(fmt.Sprintf("redact[%d]", i), source)
	}
}

// hasFailed reports whether it is already known that the expression of a field fails.
func (l *linter) hasFailed(field string) bool {
	return slices.ContainsFunc(l.found, func(f Finding) bool { return f.Field == field && f.Rule == RuleSampleFails })
}

// ruleFor returns the field of the rule that has kept the entity.
func (l *linter) ruleFor(e shownEvent) string {
	for i, rule := range l.written.Entities {
		if rule.Kind == e.kind && (len(rule.Types) == 0 || definition.AnyMatch(definition.Globs(rule.Types), eventOf(e.sample))) {
			return fmt.Sprintf("entities[%d].delete_on", i)
		}
	}
	return "entities"
}

// isTimeOfUnits reports whether a value is a time in one of its units. It may be after the time of the check: samples may have
// fixed times.
func isTimeOfUnits(t mapping.ExplainedTime) bool {
	return slices.ContainsFunc(t.Units, func(unit string) bool {
		at, ok := mapping.ParseTime(t.Value, unit)
		return ok && at.Year() >= 1990 && at.Year() < 2200
	})
}

// whyNoTime explains an expression, and names the unit in which its value would be a time.
func whyNoTime(t mapping.ExplainedTime) string {
	if t.Value == "" {
		return t.Expr + " gave null"
	}
	for _, unit := range []string{"rfc3339", "unix_s", "unix_ms", "rfc2822", "ruby"} {
		at, ok := mapping.ParseTime(t.Value, unit)
		if ok && !slices.Contains(t.Units, unit) && at.Year() > 2000 && at.Before(lintTime.Add(time.Hour)) {
			return fmt.Sprintf("%s gave a time in %s: write `units: [%s]`", t.Expr, unit, unit)
		}
	}
	if _, err := strconv.ParseFloat(t.Value, 64); err == nil {
		return fmt.Sprintf("%s gave a number that isn't a time in %s", t.Expr, strings.Join(t.Units, " or "))
	}
	return fmt.Sprintf("%s gave a text that isn't a time in %s", t.Expr, strings.Join(t.Units, " or "))
}

// checkRedacted looks for paths that hide nothing in any sample, and are misspelled.
func (l *linter) checkRedacted(field string, source definition.JQ) {
	x, err := jq.Compile(field, bare(source))
	if err != nil || x == nil || len(x.Paths) != 1 || len(x.Paths[0]) < 2 || x.Paths[0][0] != "body" {
		return
	}
	names := x.Paths[0][1:]
	last, siblings := names[len(names)-1], map[string]bool{}
	for _, body := range l.shown.bodies {
		parent, _ := valueAt(body, names[:len(names)-1]).(map[string]any)
		for name := range parent {
			siblings[name] = true
		}
	}
	if siblings[last] {
		return
	}
	var all []string
	for name := range siblings {
		all = append(all, name)
	}
	slices.Sort(all)
	if near := word.Nearest(last, all); near != "" && 3*word.Distance(last, near) <= len(last) {
		l.add(field, RuleUnhidden, "hides nothing: no sample has %q here; did you mean %q?", last, near)
	}
}

// valueAt follows a path of names; nil if it leads nowhere.
func valueAt(v any, path []string) any {
	for _, name := range path {
		fields, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = fields[name]
	}
	return v
}

// isNamed compares a name with others in lower case, without underscores.
func isNamed(name string, others []string) bool {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return name != "" && slices.ContainsFunc(others, func(other string) bool { return plain(other) == plain(name) })
}

// deletions end the types of events that delete something.
var deletions = []string{"deleted", "removed", "destroyed"}

// isDeletion reports whether a type says that a thing of a kind is gone.
func isDeletion(eventType, kind string) bool {
	name := strings.ToLower(eventType)
	ends := slices.ContainsFunc(deletions, func(word string) bool { return strings.HasSuffix(name, word) })
	rest := strings.TrimRight(strings.TrimRight(name, "abcdefghijklmnopqrstuvwxyz"), "._-:/ ")
	return ends && kind != "" && (strings.EqualFold(rest, kind) || strings.EqualFold(rest, kind+"s"))
}

// keepsDeleted returns the change of an event that says that a thing is gone and leaves its entity; nil if there is none.
func keepsDeleted(e *ExplainedEvent) *event.Change {
	for i, c := range e.Changes {
		if c.Op != event.OpDelete && c.State != nil && isDeletion(e.Type, c.Kind) {
			return &e.Changes[i]
		}
	}
	return nil
}
