package mapping

import (
	"holdfast/event"
	"holdfast/providers/definition"
)

// maxAttempts bounds every policy.
const maxAttempts = 100

// newPolicy compiles a definition's retries, which don't affect timeouts.
func (c *Compiler) newPolicy(field string, d *definition.Retry, before event.Policy) event.Policy {
	p := event.Policy{
		Attempts: attemptsOf(d), Jitter: defaultJitter, Timeout: before.Timeout, FailOnTimeout: before.FailOnTimeout,
	}
	if p.Attempts < 1 || p.Attempts > maxAttempts {
		c.Add(field+".attempts", "want 1 to %d, the first execution included", maxAttempts)
	}
	if d.Jitter != nil {
		p.Jitter = *d.Jitter
	}
	if p.Jitter < 0 || p.Jitter > 1 {
		c.Add(field+".jitter", "want a share from 0 to 1")
	}
	for _, delay := range d.Delays {
		if delay <= 0 {
			c.Add(field+".delays", "want more than 0 each")
		}
		p.Delays = append(p.Delays, event.Duration(delay))
	}
	if len(p.Delays) > 0 {
		if d.Initial != nil || d.Coefficient != 0 || d.Maximum != nil {
			c.Add(field+".delays", "is a list of its own: leave out initial, coefficient and maximum")
		}
		return p
	}
	c.setBackoff(field, d, &p)
	return p
}

// attemptsOf returns the number of attempts that fits the delays, if the definition doesn't state it.
func attemptsOf(d *definition.Retry) int {
	switch {
	case d.Attempts != nil:
		return *d.Attempts
	case len(d.Delays) > 0:
		return len(d.Delays) + 1
	}
	return defaultAttempts
}

func (c *Compiler) setBackoff(field string, d *definition.Retry, p *event.Policy) {
	p.InitialInterval, p.Coefficient = defaultDelays[0], 2
	p.MaximumInterval = defaultDelays[len(defaultDelays)-1]
	if d.Initial != nil {
		p.InitialInterval = event.Duration(*d.Initial)
	}
	if d.Coefficient != 0 {
		p.Coefficient = d.Coefficient
	}
	if d.Maximum != nil {
		p.MaximumInterval = event.Duration(*d.Maximum)
	}
	if p.InitialInterval <= 0 || p.MaximumInterval < p.InitialInterval {
		c.Add(field+".maximum", "want an initial interval over 0 and a maximum that is not below it")
	}
	if p.Coefficient < 1 {
		c.Add(field+".coefficient", "want at least 1")
	}
}
