package operation

import (
	"time"

	"holdfast/event"
)

// Cause groups unresolved dead letters with the same cause.
type Cause struct {
	Provider string      `json:"provider"`
	Step     event.Step  `json:"step"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	// Rule is the field of the definition whose evaluation failed; empty if none.
	Rule string `json:"rule,omitempty"`
	// Subscription is set for failed deliveries.
	Subscription string `json:"subscription,omitempty"`
	// Open, Exhausted and Redriving count them by state.
	Open      int64 `json:"open"`
	Exhausted int64 `json:"exhausted"`
	Redriving int64 `json:"redriving"`
	// Oldest is their first failure, Newest their last.
	Oldest time.Time `json:"oldest"`
	Newest time.Time `json:"newest"`
	// Example is the ID of the latest one.
	Example int64 `json:"example"`
}

// Count returns the number of dead letters.
func (c Cause) Count() int64 { return c.Open + c.Exhausted + c.Redriving }

// Waiting returns the number of dead letters that no redrive has claimed.
func (c Cause) Waiting() int64 { return c.Open + c.Exhausted }

// Filter selects the dead letters with this cause.
func (c Cause) Filter() RedriveFilter {
	return RedriveFilter{
		Provider: c.Provider, Step: c.Step, Class: c.Class, Code: c.Code, Rule: c.Rule, Subscription: c.Subscription,
	}
}
