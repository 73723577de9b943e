package providers

import (
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

func (c *compiler) newRules(d *definition) (rules, []override) {
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
	base = c.change("", base, overrideDefinition{
		Key: d.Key, Dedupe: d.Dedupe, OccurredAt: d.OccurredAt, Entities: d.Entities,
		Timeout: d.Timeout, OnTimeout: d.OnTimeout, Retry: d.Retry,
	})
	var overrides []override
	for i, o := range d.Overrides {
		field := fmt.Sprintf("overrides[%d]", i)
		if len(o.Types) == 0 {
			c.add(field+".types", "is missing")
		}
		overrides = append(overrides, override{
			types: c.newGlobs(field+".types", o.Types), rules: c.change(field+".", base, o),
		})
	}
	return base, overrides
}

// change gives the rules with the parts replaced that the override names.
func (c *compiler) change(at string, r rules, o overrideDefinition) rules {
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
func (p *Provider) rulesFor(eventType string) *rules {
	for i := range p.overrides {
		if anyMatch(p.overrides[i].types, eventType) {
			return &p.overrides[i].rules
		}
	}
	return &p.base
}

// rulesAt is rulesFor with the field where the rules stand: "overrides[2]", or "" for the definition's own.
func (p *Provider) rulesAt(eventType string) (string, *rules) {
	for i := range p.overrides {
		if anyMatch(p.overrides[i].types, eventType) {
			return fmt.Sprintf("overrides[%d]", i), &p.overrides[i].rules
		}
	}
	return "", &p.base
}
