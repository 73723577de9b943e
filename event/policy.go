package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Policy is a provider's retry policy. It counts executions of ClassFailed. ClassTransient is retried without being counted, and
// other classes aren't retried.
type Policy struct {
	// Attempts is the max number of counted executions of a step, including the first; at least 1.
	Attempts int `json:"attempts"`
	// Delays are the pauses after the first, second, … counted failure; the last one repeats. If empty, the pause is InitialInterval
	// × Coefficientⁿ, at most MaximumInterval.
	Delays          []Duration `json:"delays,omitempty"`
	InitialInterval Duration   `json:"initial_interval,omitempty"`
	Coefficient     float64    `json:"coefficient,omitempty"`
	MaximumInterval Duration   `json:"maximum_interval,omitempty"`
	// Jitter spreads a pause by up to ± this share of it, 0 to 1.
	Jitter float64 `json:"jitter,omitempty"`
	// Timeout bounds one execution of a step.
	Timeout Duration `json:"timeout"`
	// FailOnTimeout: an execution that times out isn't retried.
	FailOnTimeout bool `json:"fail_on_timeout,omitempty"`
}

// Pause returns the pause after the nth counted failure, n from 1, without jitter.
func (p Policy) Pause(n int) Duration {
	if len(p.Delays) > 0 {
		return p.Delays[min(n, len(p.Delays))-1]
	}
	pause := float64(p.InitialInterval) * math.Pow(max(p.Coefficient, 1), float64(n-1))
	if p.MaximumInterval > 0 {
		pause = min(pause, float64(p.MaximumInterval))
	}
	return Duration(min(pause, longestPause))
}

// longestPause avoids overflow, including jitter.
const longestPause = float64(math.MaxInt64) / 4

// ErrNoDuration is the error of an invalid Duration.
var ErrNoDuration = errors.New("use a duration in s, m or h, such as \"30s\" or \"1h30m\"")

// Duration is a time.Duration that is encoded as text ("30s"), for readable definitions and histories.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes text such as "1m30s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads text such as "1m30s".
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrNoDuration, err)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDuration, err)
	}
	*d = Duration(v)
	return nil
}
