package operation

import (
	"time"

	"holdfast/event"
)

// Cause is what dead letters that wait have in common, with how many there are.
type Cause struct {
	Provider string      `json:"provider"`
	Step     event.Step  `json:"step"`
	Class    event.Class `json:"class"`
	Code     string      `json:"code"`
	// Rule is the field of the definition that could not be evaluated; empty where the failure names none.
	Rule string `json:"rule,omitempty"`
	// Subscription is the one that deliveries have failed for; empty for other steps.
	Subscription string `json:"subscription,omitempty"`
	// Open, Exhausted and Redriving count them by where they stand.
	Open      int64 `json:"open"`
	Exhausted int64 `json:"exhausted"`
	Redriving int64 `json:"redriving"`
	// Oldest is their first failure, Newest their last.
	Oldest time.Time `json:"oldest"`
	Newest time.Time `json:"newest"`
	// Example is the number of the latest one.
	Example int64 `json:"example"`
}

// Count is how many dead letters there are of the cause.
func (c Cause) Count() int64 { return c.Open + c.Exhausted + c.Redriving }

// Waiting is how many of them a redrive would take on, but for those that another one has.
func (c Cause) Waiting() int64 { return c.Open + c.Exhausted }

// Filter selects what waits of the cause.
func (c Cause) Filter() RedriveFilter {
	return RedriveFilter{
		Provider: c.Provider, Step: c.Step, Class: c.Class, Code: c.Code, Rule: c.Rule, Subscription: c.Subscription,
	}
}
