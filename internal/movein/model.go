package movein

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"holdfast/delivery"
)

// From names a system.
type From string

// The systems that can be read.
const (
	Svix     From = "svix"
	Convoy   From = "convoy"
	Hookdeck From = "hookdeck"
	Outpost  From = "outpost"
)

// Systems returns all systems.
func Systems() []From { return []From{Svix, Convoy, Hookdeck, Outpost} }

// Source says where a system's API is.
type Source struct {
	From From
	// URL is the API's address without its version path, such as http://127.0.0.1:5005.
	URL string
	// Token is sent as a bearer token.
	Token string
	// Project is Convoy's project. Other systems have none.
	Project string
	// Tenants are those of Outpost to read; none means all.
	Tenants []string
	// Signing is Hookdeck's signing secret, which its API doesn't have.
	Signing Secret
	// HTTP sends the requests; nil means a client that follows no redirects.
	HTTP *http.Client
}

// SendsTokenInClear reports whether the URL sends the token over a network without TLS.
func (s Source) SendsTokenInClear() bool {
	u, err := url.Parse(s.URL)
	if err != nil || s.Token == "" || u.Scheme != "http" {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !address.IsLoopback())
}

// System is the API of a system. Reading goes page by page, in constant memory for events.
type System interface {
	// Endpoints calls each for every endpoint. Its names are the same in every run.
	Endpoints(ctx context.Context, each func(Endpoint) error) error
	// Events calls each for the events of a selection, the oldest first where the system allows it. One that several subscriptions
	// haven't got comes once for each.
	Events(ctx context.Context, s Selection, each func(Event) error) error
	// InFlight counts the deliveries that the system is attempting right now; 0 if its API can't tell.
	InFlight(ctx context.Context) (int, error)
}

// Selection selects events.
type Selection struct {
	// Since is the earliest time of receipt.
	Since time.Time
	// Undelivered selects deliveries that the system would still attempt; Failed those that it has given up. With neither, all
	// events are selected, without their deliveries.
	Undelivered, Failed bool
}

// Endpoint is an endpoint as Holdfast has it.
type Endpoint struct {
	Destination   delivery.Destination
	Subscriptions []delivery.Subscription
	// Secrets sign requests, the newest first. Others expire.
	Secrets []Signing
	// State is not ready if the system doesn't send to the endpoint, or Holdfast can't send as the system did. Reason says why.
	State  delivery.DestinationState
	Reason string
	// Lost lists what can't be imported, and why.
	Lost []Loss
}

// Loss is something that can't be imported.
type Loss struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func (e *Endpoint) lose(what, why string, args ...any) {
	e.Lost = append(e.Lost, Loss{what, fmt.Sprintf(why, args...)})
}

// hold keeps the endpoint from getting anything until an operator has acted.
func (e *Endpoint) hold(what, why string) {
	e.lose(what, "%s", why)
	reason := "imported without its " + what + ": " + why
	if e.State == delivery.DestinationReady {
		e.State = delivery.DestinationPaused
	}
	if e.Reason != "" {
		reason = e.Reason + "; " + reason
	}
	e.Reason = shortened(reason)
}

// shortened cuts a reason to what the operator API accepts. A plan has all of it.
func shortened(reason string) string {
	const most, end = 1024, "…"
	reason = strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), "\ufffd")
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most-len(end)], "") + end
}

// Signing is a signing secret.
type Signing struct {
	Secret Secret
	// Until is when a replaced secret expires; zero if it isn't replaced.
	Until time.Time
}

// Secret is text that is never printed.
type Secret string

const masked = "[redacted]"

// String masks the secret.
func (Secret) String() string { return masked }

// GoString masks the secret.
func (Secret) GoString() string { return masked }

// MarshalText masks the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// UnmarshalText reads the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// Event is an event of the provider "events", which delivers Data.
type Event struct {
	// ID is the publisher's idempotency key if there is one, else the system's own ID.
	ID string
	// Source is who the event is for: a tenant, an application, an owner, or the source of an incoming event.
	Source string
	Type   string
	At     time.Time
	Data   json.RawMessage
	// Attempts counts what the system has tried.
	Attempts int
	// Channels are Svix's.
	Channels []string
	// IsGone means that the system no longer has the payload: Data is no message.
	IsGone bool
	// To is the subscription that hasn't got the event; "" without a delivery.
	To string
}

// Open returns the API of a system.
func Open(s Source) (System, error) {
	if s.HTTP == nil {
		s.HTTP = newHTTPClient()
	}
	c := &client{base: strings.TrimSuffix(s.URL, "/"), token: s.Token, http: s.HTTP}
	switch s.From {
	case Convoy:
		if s.Project == "" {
			return nil, fmt.Errorf("a Convoy needs --project: the ID of the project to import")
		}
		c.header = http.Header{"X-Convoy-Version": {convoyVersion}}
		return &convoy{client: c, project: s.Project}, nil
	case Outpost:
		return &outpost{client: c, known: s.Tenants}, nil
	case Svix:
		return &svix{client: c}, nil
	case Hookdeck:
		return &hookdeck{client: c, signing: s.Signing}, nil
	}
	return nil, fmt.Errorf("unknown system %q", s.From)
}

// maxName is the longest name of a destination, in bytes.
const maxName = 63

// nameOf returns a name for something of a system: the same for the same ID.
func nameOf(of From, id string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(id))
	name := string(of) + "-" + clean
	return name[:min(len(name), maxName)]
}

// subscription returns a subscription to the events of a source, whose body is their data.
func subscription(name, to, source string, types []string) delivery.Subscription {
	s := delivery.Subscription{Name: name, To: to, Body: ".body.data", Active: true}
	s.Events.Providers, s.Events.Types = []string{"events"}, types
	if source != "" {
		s.Events.Filter = ".body.source == " + quoted(source)
	}
	return s
}

// checked makes an endpoint that Holdfast accepts: with a user and a password in a header instead of the URL, and with the
// default retry policy if it refuses the endpoint's. Otherwise the endpoint has no destination, so that the others are imported.
func (e *Endpoint) checked() Endpoint {
	if e.Destination.HTTP == nil {
		return *e
	}
	e.moveUser()
	refused := e.Destination.Check()
	if refused != nil {
		without := e.Destination
		if without.Retry = (delivery.Retry{}); without.Check() == nil {
			e.lose("retry policy", "Holdfast refuses it, and uses its default")
			e.Destination, refused = without, nil
		}
	}
	for _, s := range e.Subscriptions {
		if refused == nil {
			refused = s.CheckFor(e.Destination)
		}
	}
	if refused != nil {
		e.Destination.HTTP, e.Secrets = nil, nil
		e.lose("destination", "Holdfast refuses it: %s", refused)
	}
	return *e
}

// moveUser moves a user and a password from the URL to the header that they become in requests.
func (e *Endpoint) moveUser() {
	u, err := url.Parse(e.Destination.HTTP.URL)
	if err != nil || u.User == nil {
		return
	}
	password, _ := u.User.Password()
	pair := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	headers := delivery.Headers{}
	for name, value := range e.Destination.HTTP.Headers {
		if strings.EqualFold(name, "authorization") {
			pair = ""
		}
		headers[name] = value
	}
	if pair != "" {
		headers["authorization"] = "Basic " + pair
	}
	u.User = nil
	e.Destination.HTTP.URL, e.Destination.HTTP.Headers = u.String(), headers
}

// The length of a secret that Holdfast accepts, in bytes.
const minSecret, maxSecret = 16, 512

// useSecrets drops secrets that can't sign.
func (e *Endpoint) useSecrets(all []Signing) {
	if len(all) == 0 {
		e.hold("secret", "it has none: rotate it, and give the new one to the endpoint")
	}
	for _, s := range all {
		if n := len(s.Secret); n < minSecret || n > maxSecret {
			e.hold("secret", fmt.Sprintf("it has %d bytes, and Holdfast needs %d to %d: rotate it, and give the new one to the endpoint",
				n, minSecret, maxSecret))
			continue
		}
		e.Secrets = append(e.Secrets, s)
	}
}

func perSecond(n int, seconds uint64) *delivery.Rate {
	if n <= 0 || seconds == 0 {
		return nil
	}
	return &delivery.Rate{Requests: n, Per: durationOf(seconds)}
}
