package delivery

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"holdfast/event"
)

// Destination is an HTTP endpoint, a task queue of the user's own Temporal, or a queue of a broker: exactly one of the fields of
// kinds is set. Its limits, breaker and pause apply across all processes.
type Destination struct {
	// ID is assigned when the destination is stored.
	ID int64 `json:"id,omitempty" jsonschema:"required"`
	// Name is 1 to 63 characters of a-z, 0-9, "-", "_" and ".".
	Name     string    `json:"name"`
	HTTP     *HTTP     `json:"http,omitempty"`
	Temporal *Temporal `json:"temporal,omitempty"`
	NATS     *NATS     `json:"nats,omitempty"`
	RabbitMQ *RabbitMQ `json:"rabbitmq,omitempty"`
	Kafka    *Kafka    `json:"kafka,omitempty"`
	S3       *S3       `json:"s3,omitempty"`
	PubSub   *PubSub   `json:"pubsub,omitempty"`
	SQS      *SQS      `json:"sqs,omitempty"`
	// Rate limits attempts; without it, they are unlimited.
	Rate *Rate `json:"rate,omitempty"`
	// InFlight is the max number of concurrent attempts across all processes; 16 by default.
	InFlight int `json:"in_flight,omitempty" jsonschema:"minimum=0"`
	// Timeout bounds one attempt; 15s by default.
	Timeout event.Duration `json:"timeout,omitempty"`
	// Retry is the retry policy; by default, the schedule that Standard Webhooks recommends (10 attempts in 76 hours).
	Retry Retry `json:"retry,omitzero"`
	// Breaker configures the circuit breaker.
	Breaker Breaker `json:"breaker,omitzero"`
	// Keep is how long a delivery may stay open before it expires; 720h by default.
	Keep event.Duration `json:"keep,omitempty"`
	// DisableAfter is how long a destination may keep failing before it is disabled; 120h by default. Its deliveries then
	// stay pending.
	DisableAfter event.Duration `json:"disable_after,omitempty"`

	// Version identifies the last change.
	Version int64 `json:"version,omitempty"`
}

// Settings returns the JSON of the fields without columns of their own. It lists only the names of headers, and masks a stored
// key.
func (d Destination) Settings() (json.RawMessage, error) {
	type withNames struct {
		*HTTP

		Headers []string `json:"headers,omitempty"`
	}
	d.ID, d.Name, d.Version = 0, "", 0
	if d.HTTP == nil {
		return json.Marshal(d.withMaskedKey())
	}
	masked := d.HTTP.withMaskedKey()
	return json.Marshal(struct {
		Destination

		HTTP withNames `json:"http"`
	}{d, withNames{&masked, masked.Headers.Names()}})
}

// StoresKey reports whether the database has the key of the client certificate, rather than a file.
func (h HTTP) StoresKey() bool { return IsPEM(h.Key) || h.Key == MaskedHeader }

func (d Destination) withMaskedKey() Destination {
	return d.WithBroker(func(c *Connection) {
		if d.Link().StoresKey() {
			c.Key = MaskedHeader
		}
	})
}

func (h HTTP) withMaskedKey() HTTP {
	if h.StoresKey() {
		h.Key = MaskedHeader
	}
	return h
}

// IsStandard reports whether requests are signed as in Standard Webhooks, the default.
func (h HTTP) IsStandard() bool { return len(h.Signature) == 0 || string(h.Signature) == "null" }

// HTTP is an HTTP endpoint.
type HTTP struct {
	// URL is shown to viewers without path and query.
	URL string `json:"url"`
	// Secrets names the environment variable with the signing secrets. Only admins may set it, and only variables on the list in the
	// database resolve. If empty, the secrets stored through the API are used.
	Secrets string `json:"secrets,omitempty"`
	// Headers are sent with each request. Their values are stored encrypted and shown as [redacted]; an empty or redacted value
	// keeps the stored one.
	Headers Headers `json:"headers,omitempty"`
	// Signature is a signature scheme in the grammar of provider definitions (hmac, ed25519, token, basic …); without it,
	// Standard Webhooks.
	Signature json.RawMessage `json:"signature,omitempty" jsonschema:"type=object"`
	// CA is the authority for the endpoint's certificate: PEM text, or a file below HOLDFAST_DELIVERIES_CERTIFICATES, at most 1 MiB.
	CA string `json:"ca,omitempty"`
	// Certificate and Key are those of the client, both as PEM text or both as files like CA. The text of Key is stored encrypted
	// and shown as [redacted], which keeps the stored one while Certificate stays the same.
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	// Proxy is the name of a proxy in HOLDFAST_PROXIES, or "direct" for none, which only admins may set. If empty, HOLDFAST_PROXY
	// decides.
	Proxy string `json:"proxy,omitempty"`
}

// ProxyDirect as HTTP.Proxy connects without a proxy.
const ProxyDirect = "direct"

// Temporal is a task queue of the Temporal that a client configuration profile names.
type Temporal struct {
	// Profile is a profile of TEMPORAL_CONFIG_FILE; without it, Holdfast's own Temporal and namespace.
	Profile   string `json:"profile,omitempty"`
	TaskQueue string `json:"task_queue"`
}

// Rate allows at most Requests in any period of Per, evenly spaced.
type Rate struct {
	Requests int `json:"requests" jsonschema:"minimum=1"`
	// Per is a Go duration: 30s, 15m, 48h.
	Per event.Duration `json:"per"`
}

// Retry is a fixed Schedule of pauses or an exponential backoff. After the nth counted failure the backoff pauses for Initial ×
// Coefficientⁿ⁻¹, at most Maximum; zero fields take their values from DispatcherRetry. The zero value means DefaultSchedule.
type Retry struct {
	// Schedule lists the pauses after the first, second, … counted failure. If Attempts allows more, the last one repeats.
	Schedule []event.Duration `json:"schedule,omitempty"`
	// Named is "dispatcher" for an exponential backoff with the defaults below.
	Named string `json:"named,omitempty" jsonschema:"enum=dispatcher"`
	// Attempts is the max number of attempts; by default one more than Schedule has pauses, or 5 without a Schedule.
	Attempts int `json:"attempts,omitempty"`
	// Initial is the first pause of the backoff; 1s by default.
	Initial event.Duration `json:"initial,omitempty"`
	// Coefficient multiplies each further pause; 2 by default.
	Coefficient float64 `json:"coefficient,omitempty"`
	// Maximum bounds a pause; 1h by default.
	Maximum event.Duration `json:"maximum,omitempty"`
	// Jitter spreads each pause by ± this share, 0.1 by default.
	Jitter *float64 `json:"jitter,omitempty" jsonschema:"minimum=0,maximum=1"`
}

// Breaker stops attempts after consecutive failures. Later it lets a few through, and closes if all succeed.
type Breaker struct {
	// Failures is the number of consecutive failures that open it; 5 by default.
	Failures int `json:"failures,omitempty"`
	// Open is how long it stays open; 30s by default.
	Open event.Duration `json:"open,omitempty"`
	// Probes is the number of attempts that it then lets through; 3 by default.
	Probes int `json:"probes,omitempty"`
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
	DestinationID int64 `json:"-"`
	// State is set by an operator, or by the response 410 Gone. Matching events are kept in every state.
	State   DestinationState `json:"state"`
	Reason  string           `json:"reason,omitempty"`
	By      string           `json:"by,omitempty"`
	StateAt time.Time        `json:"state_at"`
	// Breaker is set by the results of attempts.
	Breaker BreakerState `json:"breaker"`
	// Failures counts consecutive failures.
	Failures  int        `json:"failures,omitempty"`
	OpenUntil *time.Time `json:"open_until,omitempty"`
	// ResumeAt is the end of the pause that the endpoint asked for (429, or 503 with Retry-After).
	ResumeAt     *time.Time `json:"resume_at,omitempty"`
	FailingSince *time.Time `json:"failing_since,omitempty"`
	// Failure is the code of the last failure.
	Failure string `json:"failure,omitempty"`
	// Waiting counts open deliveries that aren't in flight and have not failed yet.
	Waiting int64 `json:"waiting"`
	// Retrying counts open deliveries that aren't in flight and have failed before.
	Retrying int64 `json:"retrying"`
	// Leased counts open deliveries that are in flight.
	Leased int64 `json:"leased"`
	// Oldest is when the oldest open delivery was queued.
	Oldest *time.Time `json:"oldest,omitempty"`
	// NextAt is when the next attempt is due, which may be a probe of a failing destination with the retry that is due next.
	NextAt *time.Time `json:"next_at,omitempty"`
	// AtLeast marks Waiting and Retrying as lower bounds: counting stops at 1,000 in lists, else at 100,000.
	AtLeast bool `json:"at_least,omitempty"`
}

// Waits counts open deliveries that aren't in flight.
func (c Condition) Waits() int64 { return c.Waiting + c.Retrying }

// Open counts deliveries that haven't ended.
func (c Condition) Open() int64 { return c.Waits() + c.Leased }
