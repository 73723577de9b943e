package operation

import "time"

// Resend sends the events of a time once more, or for the first time, to one subscription: those that match it as it is now and
// were processed before it was made. What has a delivery already is left alone, unless everything is asked for.
type Resend struct {
	Base

	SubscriptionID int64  `json:"subscription_id"`
	Subscription   string `json:"subscription"`
	// Everything says that what was delivered goes once more, as a new generation; what is open is left alone all the same.
	Everything bool `json:"everything"`
	// Read counts the events that were looked at, Queued those that were queued.
	Read    int64     `json:"read"`
	Queued  int64     `json:"queued"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Reached time.Time `json:"reached,omitzero"`
}

// Share is how much of the time has been read, from 0 to 1.
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

// ResendPlan counts what a resend would do, without doing it.
type ResendPlan struct {
	// Events is how many events of the time there are, Matching how many of them match; of more than 10,000 events Matching is
	// estimated from as many, and Sampled is true.
	Events   int64 `json:"events"`
	Matching int64 `json:"matching"`
	// Delivered, Open and Failed count the matching ones by their deliveries so far; Missing have none.
	Delivered int64 `json:"delivered"`
	Open      int64 `json:"open"`
	Failed    int64 `json:"failed"`
	Missing   int64 `json:"missing"`
	Sampled   bool  `json:"sampled,omitempty"`
}
