package event

import (
	"strings"
	"time"
)

// Cause is what dead letters that wait have in common, with how many there are.
type Cause struct {
	Provider string `json:"provider"`
	Step     Step   `json:"step"`
	Class    Class  `json:"class"`
	Code     string `json:"code"`
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

// EvaluateField begins the text of an error of an expression, and the field of the definition ends it.
const EvaluateField = "evaluate "

// maxRule is how long the name of a field may be, in bytes: an index holds it.
const maxRule = 200

// Rule is the field of the definition that the failure names, as "entities[0].id"; "" if it names none.
func (f Failure) Rule() string {
	if !strings.HasPrefix(f.Code, "jq_") && !strings.HasPrefix(f.Code, "bad_") {
		return ""
	}
	_, field, _ := strings.Cut(f.Message, ": "+EvaluateField)
	if strings.Contains(field, " ") || len(field) > maxRule {
		return ""
	}
	return field
}
