package operation

import "time"

// Resend delivers the events of a time range to one subscription: those that match it now and were processed before the resend
// was created. It skips events that already have a delivery, unless Everything is set.
type Resend struct {
	Base

	SubscriptionID int64  `json:"subscription_id"`
	Subscription   string `json:"subscription"`
	// Everything: delivered events are sent again, as a new generation; open deliveries are still skipped.
	Everything bool `json:"everything"`
	// Imported: imported events that the previous system had processed are sent, too. By default those without a delivery are
	// skipped, because the previous system delivered them.
	Imported bool `json:"imported"`
	// Read counts the checked events.
	Read int64 `json:"read"`
	// Queued counts the queued deliveries.
	Queued  int64     `json:"queued"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Reached time.Time `json:"reached,omitzero"`
}

// Share returns the progress, from 0 to 1.
func (r Resend) Share() float64 {
	whole := r.Until.Sub(r.Since)
	switch {
	case r.State == Completed || whole <= 0:
		return 1
	case r.Reached.IsZero():
		return 0
	}
	return min(max(0, float64(r.Reached.Sub(r.Since))/float64(whole)), 1)
}

// ResendPlan counts what a resend would do.
type ResendPlan struct {
	// Events counts the events of the time range.
	Events int64 `json:"events"`
	// Matching counts the events that match.
	Matching int64 `json:"matching"`
	// Delivered, Open and Failed count the matching events by the status of their delivery.
	Delivered int64 `json:"delivered"`
	Open      int64 `json:"open"`
	Failed    int64 `json:"failed"`
	// Missing counts the matching events without a delivery, except for those in Imported.
	Missing int64 `json:"missing"`
	// Imported counts the matching events without a delivery that were imported and that the previous system had processed. A
	// resend skips them unless it has imported set.
	Imported int64 `json:"imported"`
	// Sampled reports that Matching is an estimate from a sample, because there are more than 10,000 events.
	Sampled bool `json:"sampled,omitempty"`
	// AtLeast reports that the period has more events: all counts are of its newest ones, since the request asked for no more.
	AtLeast bool `json:"at_least,omitempty"`
}
