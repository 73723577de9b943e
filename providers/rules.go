package providers

import (
	"context"
	"fmt"
	"time"

	"holdfast/event"
)

// rules are what applies to the events of a type: the definition's own, changed by the first override that fits.
type rules struct {
	ignore   bool
	key      *keyRule
	dedupe   event.Duration
	times    []timeRule
	entities []entityRule
	priority event.Priority
	lane     Lane
	policy   event.Policy
}

// mapping are the rules of a definition for all types of event.
type mapping struct {
	base      rules
	overrides []override
}

type override struct {
	types []glob
	rules rules
}

// The policy of definitions that say nothing: one try, and one after each of the delays.
var (
	defaultDelays = []event.Duration{
		event.Duration(time.Minute), event.Duration(5 * time.Minute), event.Duration(15 * time.Minute),
	}
	defaultTimeout  = event.Duration(3 * time.Minute)
	defaultAttempts = len(defaultDelays) + 1
	defaultJitter   = 0.2
)

func (c *eventCompiler) newMapping(d *definition) (m mapping) {
	base := rules{
		priority: event.Priority(c.oneOf("priority", d.Priority, "normal", "critical", "high")),
		lane:     Lane(c.oneOf("lane", d.Lane, string(LaneWorkflow), string(LaneBulk))),
		policy: event.Policy{
			Attempts: defaultAttempts, Delays: defaultDelays, Jitter: defaultJitter, Timeout: defaultTimeout,
		},
	}
	if d.Key == nil {
		c.add("key", "is missing: an event that cannot be identified cannot be deduplicated")
	}
	m.base = c.change("", base, overrideDefinition{
		Key: d.Key, Dedupe: d.Dedupe, OccurredAt: d.OccurredAt, Entities: d.Entities,
		Timeout: d.Timeout, OnTimeout: d.OnTimeout, Retry: d.Retry,
	})
	for i, o := range d.Overrides {
		field := fmt.Sprintf("overrides[%d]", i)
		if len(o.Types) == 0 {
			c.add(field+".types", "is missing")
		}
		m.overrides = append(m.overrides, override{
			types: c.newGlobs(field+".types", o.Types), rules: c.change(field+".", m.base, o),
		})
	}
	return m
}

// change gives the rules with the parts replaced that the override names.
func (c *eventCompiler) change(at string, r rules, o overrideDefinition) rules {
	r.ignore = o.Ignore
	if o.Key != nil {
		r.key = c.newKey(at+"key", o.Key)
	}
	if o.Dedupe != nil {
		r.dedupe = event.Duration(*o.Dedupe)
	}
	if o.OccurredAt != nil {
		r.times = c.newTimes(at+"occurred_at", o.OccurredAt)
	}
	if o.Entities != nil {
		r.entities = c.newEntities(at+"entities", o.Entities)
	}
	if o.Priority != "" {
		r.priority = event.Priority(c.oneOf(at+"priority", o.Priority, "normal", "critical", "high"))
	}
	if o.Lane != "" {
		r.lane = Lane(c.oneOf(at+"lane", o.Lane, string(LaneWorkflow), string(LaneBulk)))
	}
	if o.Retry != nil {
		r.policy = c.newPolicy(at+"retry", o.Retry, r.policy)
	}
	if o.OnTimeout != "" {
		r.policy.FailOnTimeout = c.oneOf(at+"on_timeout", o.OnTimeout, "retry", "fail") == "fail"
	}
	if o.Timeout != nil {
		r.policy.Timeout = event.Duration(*o.Timeout)
		if r.policy.Timeout <= 0 {
			c.add(at+"timeout", "want more than 0")
		}
	}
	return r
}

// rulesFor gives the rules of a type of event.
func (m *mapping) rulesFor(eventType string) *rules {
	_, r := m.rulesAt(eventType)
	return r
}

// rulesAt also gives the field where the rules stand: "overrides[2]", or "" for the definition's own.
func (m *mapping) rulesAt(eventType string) (string, *rules) {
	for i := range m.overrides {
		if anyMatch(m.overrides[i].types, eventType) {
			return fmt.Sprintf("overrides[%d]", i), &m.overrides[i].rules
		}
	}
	return "", &m.base
}

// all are the rules of the definition itself and of its overrides.
func (m *mapping) all() []*rules {
	all := []*rules{&m.base}
	for i := range m.overrides {
		all = append(all, &m.overrides[i].rules)
	}
	return all
}

// versions are the expressions of all versions.
func (m *mapping) versions() (expressions []*expression) {
	for _, r := range m.all() {
		for i := range r.entities {
			expressions = append(expressions, r.entities[i].version)
		}
	}
	return expressions
}

// keyExpressions are the parts of all keys.
func (m *mapping) keyExpressions() (expressions []*expression) {
	for _, r := range m.all() {
		if r.key == nil {
			continue
		}
		for _, part := range r.key.parts {
			expressions = append(expressions, part.expr)
		}
		expressions = append(expressions, r.key.fingerprint.delivery)
	}
	return expressions
}

// parse gives what an event of the type means.
func (r *rules) parse(ctx context.Context, receipt event.Receipt, eventType string, in input) (event.Parsed, error) {
	parsed := event.Parsed{Type: eventType, Outcome: event.OutcomeProcessed, Policy: r.policy}
	at, found, err := occurredAt(ctx, r.times, in, receipt.ReceivedAt)
	if err != nil {
		return event.Parsed{}, err
	}
	if parsed.OccurredAt = at; !found {
		parsed.OccurredAt, parsed.OccurredAtMissing = receipt.ReceivedAt.UTC().Truncate(timePrecision), true
	}
	if r.ignore {
		parsed.Outcome = event.OutcomeIgnored
		return parsed, nil
	}
	if parsed.Changes, err = changesOf(ctx, r.entities, eventType, in); err != nil {
		return event.Parsed{}, err
	}
	return parsed, nil
}

// maxBulk is the most bytes that an event of the bulk lane may have, its envelope included, so that a batch of hundreds fits
// into memory. A larger one becomes a workflow.
const maxBulk = 32 << 10

// laneOf is the lane that an event of a size takes: that of the rules, if it is small enough.
func (r *rules) laneOf(size int) Lane {
	if size > maxBulk {
		return LaneWorkflow
	}
	return r.lane
}
