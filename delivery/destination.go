package delivery

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"holdfast/event"
)

// Destination is an HTTP endpoint or a task queue of the user's own Temporal: exactly one of HTTP and Temporal is set. Its
// limits, breaker and pause apply across all processes.
type Destination struct {
	// ID is 0 before the destination is stored.
	ID       int64     `json:"id,omitempty"`
	Name     string    `json:"name"`
	HTTP     *HTTP     `json:"http,omitempty"`
	Temporal *Temporal `json:"temporal,omitempty"`
	// Rate limits attempts; nil means unlimited.
	Rate *Rate `json:"rate,omitempty"`
	// InFlight is the max number of concurrent attempts across all processes; 0 means DefaultInFlight.
	InFlight int `json:"in_flight,omitempty"`
	// Timeout bounds one attempt; 0 means DefaultTimeout.
	Timeout event.Duration `json:"timeout,omitempty"`
	// Retry is the retry policy; its zero value means DefaultSchedule.
	Retry Retry `json:"retry,omitzero"`
	// Breaker configures the circuit breaker; zero fields take those of DefaultBreaker.
	Breaker Breaker `json:"breaker,omitzero"`
	// Keep is how long a delivery may stay open before it expires; 0 means DefaultKeep.
	Keep event.Duration `json:"keep,omitempty"`
	// DisableAfter is how long a destination may keep failing before it is disabled; 0 means DefaultDisableAfter. Its deliveries
	// then stay pending.
	DisableAfter event.Duration `json:"disable_after,omitempty"`

	// Version identifies the last change.
	Version int64 `json:"version,omitempty"`
}

// Settings returns the JSON of the fields without columns of their own. It lists only the names of headers.
func (d Destination) Settings() (json.RawMessage, error) {
	type withNames struct {
		*HTTP

		Headers []string `json:"headers,omitempty"`
	}
	d.ID, d.Name, d.Version = 0, "", 0
	if d.HTTP == nil {
		return json.Marshal(d)
	}
	return json.Marshal(struct {
		Destination

		HTTP withNames `json:"http"`
	}{d, withNames{d.HTTP, d.HTTP.Headers.Names()}})
}

// IsStandard reports whether requests are signed as in Standard Webhooks, the default.
func (h HTTP) IsStandard() bool { return len(h.Signature) == 0 || string(h.Signature) == "null" }

// HTTP is an HTTP endpoint.
type HTTP struct {
	URL string `json:"url"`
	// Secrets names the environment variable with the signing secrets. Only admins may set it, and only variables on the list in the
	// database resolve. If empty, the secrets stored through the API are used.
	Secrets string  `json:"secrets,omitempty"`
	Headers Headers `json:"headers,omitempty"`
	// Signature is a signature scheme in the grammar of provider definitions (hmac, ed25519, token, basic …); nil means Standard
	// Webhooks.
	Signature json.RawMessage `json:"signature,omitempty"`
	// CA is the authority for the endpoint's certificate: PEM text or a file. Certificate and Key are PEM files of the client
	// certificate. Files must be below HOLDFAST_DELIVERIES_CERTIFICATES.
	CA          string `json:"ca,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
}

// Temporal is a task queue of the Temporal that a client configuration profile names.
type Temporal struct {
	// Profile is a profile of TEMPORAL_CONFIG_FILE; "" is Holdfast's own Temporal and namespace.
	Profile   string `json:"profile,omitempty"`
	TaskQueue string `json:"task_queue"`
}

// Rate allows at most Requests in any period of Per, evenly spaced.
type Rate struct {
	Requests int            `json:"requests"`
	Per      event.Duration `json:"per"`
}

// Retry is a fixed Schedule of pauses or an exponential backoff. After the nth counted failure the backoff pauses for Initial ×
// Coefficientⁿ⁻¹, at most Maximum; zero fields take those of DispatcherRetry. The zero value means DefaultSchedule.
type Retry struct {
	// Schedule lists the pauses after the first, second, … counted failure. If Attempts allows more, the last one repeats.
	Schedule []event.Duration `json:"schedule,omitempty"`
	// Named is RetryDispatcher or "".
	Named string `json:"named,omitempty"`
	// Attempts is the max number of attempts; 0 means one more than Schedule has pauses.
	Attempts    int            `json:"attempts,omitempty"`
	Initial     event.Duration `json:"initial,omitempty"`
	Coefficient float64        `json:"coefficient,omitempty"`
	Maximum     event.Duration `json:"maximum,omitempty"`
	// Jitter spreads each pause by ± this share, 0 to 1; nil means 0.1.
	Jitter *float64 `json:"jitter,omitempty"`
}

// Breaker opens for Open after Failures consecutive failures. Then it lets Probes attempts through, and closes if all succeed.
type Breaker struct {
	Failures int            `json:"failures,omitempty"`
	Open     event.Duration `json:"open,omitempty"`
	Probes   int            `json:"probes,omitempty"`
}

// The defaults of a destination.
const (
	DefaultInFlight     = 16
	DefaultTimeout      = event.Duration(15 * time.Second)
	DefaultKeep         = event.Duration(30 * 24 * time.Hour)
	DefaultDisableAfter = event.Duration(5 * 24 * time.Hour)
)

// RetryDispatcher names the policy DispatcherRetry.
const RetryDispatcher = "dispatcher"

const defaultJitter = 0.1

// DefaultSchedule is the retry schedule that Standard Webhooks recommends. It takes 76 hours.
func DefaultSchedule() []event.Duration {
	const hour = event.Duration(time.Hour)
	return []event.Duration{
		event.Duration(5 * time.Second), event.Duration(5 * time.Minute), event.Duration(30 * time.Minute),
		2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour,
	}
}

// DispatcherRetry returns an exponential backoff with 5 attempts.
func DispatcherRetry() Retry {
	return Retry{Attempts: 5, Initial: event.Duration(time.Second), Coefficient: 2, Maximum: event.Duration(time.Hour)}
}

// DefaultBreaker returns the breaker of a destination that configures none.
func DefaultBreaker() Breaker {
	return Breaker{Failures: 5, Open: event.Duration(30 * time.Second), Probes: 3}
}

// SecretPrefix begins the secrets of Standard Webhooks.
const SecretPrefix = "whsec_"

// StandardSecret returns a stored secret in the form of Standard Webhooks: SecretPrefix and base64. Text without the prefix is
// encoded.
func StandardSecret(stored string) string {
	if strings.HasPrefix(stored, SecretPrefix) {
		return stored
	}
	return SecretPrefix + base64.StdEncoding.EncodeToString([]byte(stored))
}

// Secret signs requests to an endpoint.
type Secret struct {
	// Value is the secret as stored. See StandardSecret for how Standard Webhooks uses it.
	Value string `json:"value"`
	// Until is when a replaced secret expires; nil if it was not replaced.
	Until *time.Time `json:"until,omitempty"`
}

// DestinationState is set by operators. Events that match are queued in every state.
type DestinationState string

// The states of a destination.
const (
	DestinationReady    DestinationState = "ready"
	DestinationPaused   DestinationState = "paused"
	DestinationDisabled DestinationState = "disabled"
)

// BreakerState is set by the results of attempts.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open"
)

// Condition is the current state of a destination.
type Condition struct {
	DestinationID int64            `json:"-"`
	State         DestinationState `json:"state"`
	Reason        string           `json:"reason,omitempty"`
	By            string           `json:"by,omitempty"`
	StateAt       time.Time        `json:"state_at"`
	Breaker       BreakerState     `json:"breaker"`
	Failures      int              `json:"failures,omitempty"`
	OpenUntil     *time.Time       `json:"open_until,omitempty"`
	// ResumeAt is the end of the pause that the endpoint asked for.
	ResumeAt     *time.Time `json:"resume_at,omitempty"`
	FailingSince *time.Time `json:"failing_since,omitempty"`
	Failure      string     `json:"failure,omitempty"`
	// Waiting, Retrying and Leased count open deliveries, each once: Leased are in flight, Retrying have failed before, Waiting are
	// the others. Oldest is when the oldest was queued, NextAt when the next attempt is due.
	Waiting  int64      `json:"waiting"`
	Retrying int64      `json:"retrying"`
	Leased   int64      `json:"leased"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	NextAt   *time.Time `json:"next_at,omitempty"`
	// AtLeast marks Waiting and Retrying as lower bounds.
	AtLeast bool `json:"at_least,omitempty"`
}

// UnmarshalJSON also reads the names that two fields have in recorded histories.
func (c *Condition) UnmarshalJSON(data []byte) error {
	type plain Condition
	old := struct {
		*plain
		TroubleSince *time.Time `json:"trouble_since"`
		Trouble      string     `json:"trouble"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	c.FailingSince, c.Failure = cmp.Or(c.FailingSince, old.TroubleSince), cmp.Or(c.Failure, old.Trouble)
	return nil
}

// Waits counts open deliveries that aren't in flight.
func (c Condition) Waits() int64 { return c.Waiting + c.Retrying }

// Open counts deliveries that haven't ended.
func (c Condition) Open() int64 { return c.Waits() + c.Leased }
