package movein

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
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
	// IsGone means that the system has deleted the payload: Data isn't the message.
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
			return nil, errors.New("--from convoy needs --project: the ID of the project to import")
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
