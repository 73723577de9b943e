package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// Rules apply to the events of a type: the definition's own, changed by the first override that matches.
type Rules struct {
	ignore   bool
	key      *keyRule
	Dedupe   event.Duration
	times    []timeRule
	entities []entityRule
	Priority event.Priority
	lane     definition.Lane
	Policy   event.Policy
}

// Set combines the rules of a definition for all event types.
type Set struct {
	base      Rules
	overrides []override
}

type override struct {
	types []definition.Glob
	rules Rules
}

// The default policy: one attempt, and one after each of the delays.
var (
	defaultDelays = []event.Duration{
		event.Duration(time.Minute), event.Duration(5 * time.Minute), event.Duration(15 * time.Minute),
	}
	defaultTimeout  = event.Duration(3 * time.Minute)
	defaultAttempts = len(defaultDelays) + 1
	defaultJitter   = 0.2
)

// Compile compiles the rules of a definition.
func (c *Compiler) Compile(d *definition.Definition) (m Set) {
	base := Rules{
		Priority: event.Priority(c.OneOf("priority", d.Priority, "normal", "critical", "high")),
		lane:     definition.Lane(c.OneOf("lane", d.Lane, string(definition.LaneWorkflow), string(definition.LaneBulk))),
		Policy: event.Policy{
			Attempts: defaultAttempts, Delays: defaultDelays, Jitter: defaultJitter, Timeout: defaultTimeout,
		},
	}
	if d.Key == nil {
		c.Add("key", "is missing: without a key, an event can't be deduplicated")
	}
	m.base = c.change("", base, definition.Override{
		Key: d.Key, Dedupe: d.Dedupe, OccurredAt: d.OccurredAt, Entities: d.Entities,
		Timeout: d.Timeout, OnTimeout: d.OnTimeout, Retry: d.Retry,
	})
	for i, o := range d.Overrides {
		field := fmt.Sprintf("overrides[%d]", i)
		if len(o.Types) == 0 {
			c.Add(field+".types", "is missing")
		}
		m.overrides = append(m.overrides, override{
			types: c.Globs(field+".types", o.Types), rules: c.change(field+".", m.base, o),
		})
	}
	c.checkNames(m.all())
	return m
}

// change returns the rules with the parts replaced that the override sets.
func (c *Compiler) change(at string, r Rules, o definition.Override) Rules {
	r.ignore = o.Ignore
	if o.Key != nil {
		r.key = c.newKey(at+"key", o.Key)
	}
	if o.Dedupe != nil {
		r.Dedupe = event.Duration(*o.Dedupe)
	}
	if o.OccurredAt != nil {
		r.times = c.newTimes(at+"occurred_at", o.OccurredAt)
	}
	if o.Entities != nil {
		r.entities = c.newEntities(at+"entities", o.Entities)
	}
	if o.Priority != "" {
		r.Priority = event.Priority(c.OneOf(at+"priority", o.Priority, "normal", "critical", "high"))
	}
	if o.Lane != "" {
		r.lane = definition.Lane(c.OneOf(at+"lane", o.Lane, string(definition.LaneWorkflow), string(definition.LaneBulk)))
	}
	if o.Retry != nil {
		r.Policy = c.newPolicy(at+"retry", o.Retry, r.Policy)
	}
	if o.OnTimeout != "" {
		r.Policy.FailOnTimeout = c.OneOf(at+"on_timeout", o.OnTimeout, "retry", "fail") == "fail"
	}
	if o.Timeout != nil {
		r.Policy.Timeout = event.Duration(*o.Timeout)
		if r.Policy.Timeout <= 0 {
			c.Add(at+"timeout", "want more than 0")
		}
	}
	return r
}

// For returns the rules for an event type.
func (m *Set) For(eventType string) *Rules {
	if i := m.override(eventType); i >= 0 {
		return &m.overrides[i].rules
	}
	return &m.base
}

// At returns the field with the rules for a type: "overrides[2]", or "" for the definition's own.
func (m *Set) At(eventType string) string {
	if i := m.override(eventType); i >= 0 {
		return fmt.Sprintf("overrides[%d]", i)
	}
	return ""
}

// override returns the first one that matches; -1 if none does.
func (m *Set) override(eventType string) int {
	for i := range m.overrides {
		if definition.AnyMatch(m.overrides[i].types, eventType) {
			return i
		}
	}
	return -1
}

// all returns the rules of the definition itself and of its overrides.
func (m *Set) all() []*Rules {
	all := []*Rules{&m.base}
	for i := range m.overrides {
		all = append(all, &m.overrides[i].rules)
	}
	return all
}

// Windows returns the shortest and the longest dedupe window, where 0 means forever, and a text of all of them.
func (m *Set) Windows() (shortest, longest event.Duration, all string) {
	shortest, longest = m.base.Dedupe, m.base.Dedupe
	text := []string{time.Duration(m.base.Dedupe).String()}
	for i := range m.overrides {
		o := &m.overrides[i]
		window := o.rules.Dedupe
		text = append(text, fmt.Sprintf("%v %s", o.types, time.Duration(window)))
		if isLonger(shortest, window) {
			shortest = window
		}
		if isLonger(window, longest) {
			longest = window
		}
	}
	return shortest, longest, strings.Join(text, "; ")
}

// isLonger reports whether a window ends after another one; 0 never ends.
func isLonger(a, b event.Duration) bool { return b != 0 && (a == 0 || a > b) }

// Versions returns the expressions of all versions.
func (m *Set) Versions() (expressions []*jq.Expression) {
	for _, r := range m.all() {
		for i := range r.entities {
			expressions = append(expressions, r.entities[i].version)
		}
	}
	return expressions
}

// KeyExpressions returns the parts of all keys.
func (m *Set) KeyExpressions() (expressions []*jq.Expression) {
	for _, r := range m.all() {
		if r.key == nil {
			continue
		}
		for _, part := range r.key.parts {
			expressions = append(expressions, part.expr)
		}
		expressions = append(expressions, r.key.fingerprint.delivery)
		if b := r.key.before; b != nil {
			for _, part := range b.parts {
				expressions = append(expressions, part.expr)
			}
		}
	}
	return expressions
}

// Parse returns the meaning of an event of the type.
func (r *Rules) Parse(ctx context.Context, receipt event.Receipt, eventType string, in jq.Input) (event.Parsed, error) {
	parsed := event.Parsed{Type: eventType, Outcome: event.OutcomeProcessed, Policy: r.Policy}
	at, found, err := occurredAt(ctx, r.times, in, receipt.ReceivedAt)
	if err != nil {
		return event.Parsed{}, err
	}
	if parsed.OccurredAt = at; !found {
		parsed.OccurredAt, parsed.OccurredAtMissing = occurredElse(receipt)
	}
	if r.ignore {
		parsed.Outcome = event.OutcomeIgnored
		return parsed, nil
	}
	if r.key != nil && receipt.Content != "" {
		parsed.Repeats = r.key.repeats
	}
	changes, omitted, results, err := changesOf(ctx, r.entities, eventType, in, receipt.Fetched)
	if err != nil {
		return event.Parsed{}, err
	}
	parsed.Changes, parsed.Omitted = changes, omitted
	parsed.Unmapped = len(changes) == 0 && omitted == nil && slices.ContainsFunc(results, ruleResult.isMeant)
	return parsed, nil
}

// maxBulk is the maximum size of an event in the bulk lane in bytes, with its envelope, so that a batch of hundreds fits into
// memory. A larger one becomes a workflow.
const maxBulk = 32 << 10

// IsBulk reports whether an event of a size goes to the bulk lane.
func (r *Rules) IsBulk(size int) bool { return r.lane == definition.LaneBulk && size <= maxBulk }
