package providers

import (
	"time"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/providers/definition"
)

// Redrive has a definition's settings for automatic redrive. Unset ones are zero.
type Redrive struct {
	// Off leaves dead events to the operators.
	Off      bool
	Base     event.Duration
	Attempts int
	// Classes are the failure classes that are retried.
	Classes []event.Class
}

// Over returns the settings, with those of policy for what the definition doesn't set.
func (r Redrive) Over(policy operation.RedrivePolicy) operation.RedrivePolicy {
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

// maxRedrives bounds the attempts, whose pauses double.
const maxRedrives = 20

func (c *compiler) newRedrive(d definition.Redrive) Redrive {
	r := Redrive{Off: c.OneOf("redrive.automatic", d.Automatic, "on", "off") == "off", Attempts: d.Attempts}
	if d.Base != nil {
		if r.Base = event.Duration(*d.Base); r.Base <= 0 {
			c.Add("redrive.base", "want more than 0")
		}
	}
	if d.Attempts < 0 || d.Attempts > maxRedrives {
		c.Add("redrive.attempts", "want 1 to %d", maxRedrives)
	}
	for _, class := range d.Classes {
		if class == "" {
			c.Add("redrive.classes", "want transient, failed or rejected each")
		}
		r.Classes = append(r.Classes, event.Class(c.OneOf("redrive.classes", class, "transient", "failed", "rejected")))
	}
	return r
}
