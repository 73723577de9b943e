package delivery

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"holdfast/event"
)

// Destination is where events are delivered: an HTTP endpoint, or a task queue of somebody's own Temporal. Exactly one of HTTP
// and Temporal is set. Rate, cap, breaker and pause are those of the destination, whichever process delivers.
type Destination struct {
	// ID is the row's own number; 0 before it is stored.
	ID       int64     `json:"id,omitempty"`
	Name     string    `json:"name"`
	HTTP     *HTTP     `json:"http,omitempty"`
	Temporal *Temporal `json:"temporal,omitempty"`
	// Rate bounds attempts; nil is no bound.
	Rate *Rate `json:"rate,omitempty"`
	// InFlight is how many attempts may be under way at the same time, in all processes together; 0 means DefaultInFlight.
	InFlight int `json:"in_flight,omitempty"`
	// Timeout bounds one attempt; 0 means DefaultTimeout.
	Timeout event.Duration `json:"timeout,omitempty"`
	// Retry says when a failed attempt is made again; its zero value means DefaultSchedule.
	Retry Retry `json:"retry,omitzero"`
	// Breaker says when a destination that fails is left alone; its zero fields mean those of DefaultBreaker.
	Breaker Breaker `json:"breaker,omitzero"`
	// Keep is how long a delivery may be open before it expires; 0 means DefaultKeep.
	Keep event.Duration `json:"keep,omitempty"`
	// DisableAfter is how long a destination may be in trouble before it is disabled; 0 means DefaultDisableAfter. Its deliveries
	// wait then, as they do while it is paused.
	DisableAfter event.Duration `json:"disable_after,omitempty"`

	// Version is that of the change that made it what it is.
	Version int64 `json:"version,omitempty"`
}

// Settings are the destination without what has columns of its own. Of headers they have the names, as a list.
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

// IsStandard reports whether requests are signed as in Standard Webhooks, since no other signature is declared.
func (h HTTP) IsStandard() bool { return len(h.Signature) == 0 || string(h.Signature) == "null" }

// HTTP is an endpoint.
type HTTP struct {
	URL string `json:"url"`
	// Secrets names the environment variable with the secrets, as in definitions of providers. Only an admin names one, and only
	// those on the list that the database keeps resolve. Where it is empty the secrets are those that the API has made or was given.
	Secrets string `json:"secrets,omitempty"`
	// Headers are sent with each request.
	Headers Headers `json:"headers,omitempty"`
	// Signature is how requests are signed, as definitions of providers declare it (hmac, ed25519, token, basic …), in JSON; nil is
	// Standard Webhooks.
	Signature json.RawMessage `json:"signature,omitempty"`
	// CA says who has signed the endpoint's certificate: certificates in PEM, or a file with them. Certificate and Key are files
	// in PEM, which the client shows. Files are below the one folder that the configuration names.
	CA          string `json:"ca,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
}

// Temporal is a task queue of a Temporal that a profile of Temporal's own client configuration names.
type Temporal struct {
	// Profile is one of TEMPORAL_CONFIG_FILE; "" is Holdfast's own Temporal and namespace.
	Profile   string `json:"profile,omitempty"`
	TaskQueue string `json:"task_queue"`
}

// Rate allows at most Requests in every span of Per, spread evenly over it.
type Rate struct {
	Requests int            `json:"requests"`
	Per      event.Duration `json:"per"`
}

// Retry says when the attempts of a delivery follow each other. With Schedule its entries are the pauses. Without, it is
// exponential: after the nth counted failure the pause is Initial × Coefficientⁿ⁻¹, at most Maximum; fields that are zero are
// those of DispatcherRetry. The zero value means DefaultSchedule.
type Retry struct {
	// Schedule are the pauses after the first, second, … counted failure. The last one repeats if Attempts says so.
	Schedule []event.Duration `json:"schedule,omitempty"`
	// Named is a policy by its name: RetryDispatcher or "".
	Named string `json:"named,omitempty"`
	// Attempts is how many there are in all; 0 means one more than Schedule has pauses.
	Attempts    int            `json:"attempts,omitempty"`
	Initial     event.Duration `json:"initial,omitempty"`
	Coefficient float64        `json:"coefficient,omitempty"`
	Maximum     event.Duration `json:"maximum,omitempty"`
	// Jitter spreads each pause by ± this share, 0 to 1; nil means 0.1.
	Jitter *float64 `json:"jitter,omitempty"`
}

// Breaker opens after Failures in a row, for Open; then Probes attempts are let through, and close it if they all succeed.
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

// RetryDispatcher is the name of DispatcherRetry.
const RetryDispatcher = "dispatcher"

const defaultJitter = 0.1

// DefaultSchedule is that of a destination which declares no retry: the one that Standard Webhooks recommends. It takes 76 hours.
func DefaultSchedule() []event.Duration {
	const hour = event.Duration(time.Hour)
	return []event.Duration{
		event.Duration(5 * time.Second), event.Duration(5 * time.Minute), event.Duration(30 * time.Minute),
		2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour,
	}
}

// DispatcherRetry is exponential.
func DispatcherRetry() Retry {
	return Retry{Attempts: 5, Initial: event.Duration(time.Second), Coefficient: 2, Maximum: event.Duration(time.Hour)}
}

// DefaultBreaker is that of a destination which declares none.
func DefaultBreaker() Breaker {
	return Breaker{Failures: 5, Open: event.Duration(30 * time.Second), Probes: 3}
}

// SecretPrefix is that of a secret of Standard Webhooks.
const SecretPrefix = "whsec_"

// StandardSecret is a stored secret in the form of Standard Webhooks: SecretPrefix and base64. Text without the prefix is
// encoded.
func StandardSecret(stored string) string {
	if strings.HasPrefix(stored, SecretPrefix) {
		return stored
	}
	return SecretPrefix + base64.StdEncoding.EncodeToString([]byte(stored))
}

// Secret is what requests to an endpoint are signed with.
type Secret struct {
	// Value is the secret as it was given or made. See StandardSecret for how Standard Webhooks signs with it.
	Value string `json:"value"`
	// Until is when it is no longer used, because another one has replaced it; nil is never.
	Until *time.Time `json:"until,omitempty"`
}

// DestinationState is what people have decided about a destination.
type DestinationState string

// The states of a destination: events that match are kept in each of them.
const (
	DestinationReady    DestinationState = "ready"
	DestinationPaused   DestinationState = "paused"
	DestinationDisabled DestinationState = "disabled"
)

// BreakerState is what the outcomes of attempts have made of a destination.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half_open"
)

// Condition is how a destination does at a moment.
type Condition struct {
	DestinationID int64            `json:"-"`
	State         DestinationState `json:"state"`
	Reason        string           `json:"reason,omitempty"`
	By            string           `json:"by,omitempty"`
	StateAt       time.Time        `json:"state_at"`
	Breaker       BreakerState     `json:"breaker"`
	Failures      int              `json:"failures,omitempty"`
	OpenUntil     *time.Time       `json:"open_until,omitempty"`
	// ResumeAt is until when the receiver has asked for a pause.
	ResumeAt     *time.Time `json:"resume_at,omitempty"`
	TroubleSince *time.Time `json:"trouble_since,omitempty"`
	Trouble      string     `json:"trouble,omitempty"`
	// Waiting, Retrying and Leased count its open deliveries, each once: Leased are under way, Retrying wait and have failed before,
	// Waiting are the others. Oldest is when the oldest of them was queued, NextAt when the next attempt is due.
	Waiting  int64      `json:"waiting"`
	Retrying int64      `json:"retrying"`
	Leased   int64      `json:"leased"`
	Oldest   *time.Time `json:"oldest,omitempty"`
	NextAt   *time.Time `json:"next_at,omitempty"`
	// AtLeast: more wait than were counted.
	AtLeast bool `json:"at_least,omitempty"`
}

// Waits counts the deliveries that are open and not under way.
func (c Condition) Waits() int64 { return c.Waiting + c.Retrying }

// Open counts the deliveries that have not ended.
func (c Condition) Open() int64 { return c.Waits() + c.Leased }
