package providers

import (
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/providers/definition"
)

// Replay has a definition's settings for automatic replay. Unset ones are zero.
type Replay struct {
	// Off leaves dead events to the operators.
	Off      bool
	Base     event.Duration
	Attempts int
	// Classes are the failure classes that are retried.
	Classes []event.Class
}

// Over returns the settings, with those of policy for what the definition doesn't set.
func (r Replay) Over(policy operation.ReplayPolicy) operation.ReplayPolicy {
	if r.Base > 0 {
		policy.Base = time.Duration(r.Base)
	}
	if r.Attempts > 0 {
		policy.Attempts = r.Attempts
	}
	if len(r.Classes) > 0 {
		policy.Classes = r.Classes
	}
	if r.Off {
		policy.Classes = nil
	}
	return policy
}

// maxReplays bounds the attempts, whose pauses double.
const maxReplays = 20

func newReplay(p *definition.Problems, d definition.Replay) Replay {
	r := Replay{Off: p.OneOf("replay.automatic", d.Automatic, "on", "off") == "off", Attempts: d.Attempts}
	if d.Base != nil {
		if r.Base = event.Duration(*d.Base); r.Base <= 0 {
			p.Add("replay.base", "want more than 0")
		}
	}
	if d.Attempts < 0 || d.Attempts > maxReplays {
		p.Add("replay.attempts", "want 1 to %d", maxReplays)
	}
	for _, class := range d.Classes {
		if class == "" {
			p.Add("replay.classes", "want transient, failed or rejected each")
		}
		r.Classes = append(r.Classes, event.Class(p.OneOf("replay.classes", class, "transient", "failed", "rejected")))
	}
	return r
}
