package movein

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// hookdeck is a Hookdeck project. Routes and fields: the npm package @hookdeck/sdk 0.4.0 (API 2024-03-01).
type hookdeck struct {
	*client

	signing Secret
}

const hookdeckAPI = "/2024-03-01"

type hookdeckConnection struct {
	ID          string              `json:"id"`
	PausedAt    *time.Time          `json:"paused_at"`
	DisabledAt  *time.Time          `json:"disabled_at"`
	Source      hookdeckSource      `json:"source"`
	Destination hookdeckDestination `json:"destination"`
	Rules       []hookdeckRule      `json:"rules"`
}

type hookdeckSource struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type hookdeckDestination struct {
	URL        string     `json:"url"`
	Method     string     `json:"http_method"`
	Rate       int        `json:"rate_limit"`
	RatePeriod string     `json:"rate_limit_period"`
	DisabledAt *time.Time `json:"disabled_at"`
	Auth       *struct {
		Type   string `json:"type"`
		Config struct {
			Key      string `json:"key"`
			APIKey   Secret `json:"api_key"`
			To       string `json:"to"`
			Token    Secret `json:"token"`
			Username string `json:"username"`
			Password Secret `json:"password"`
			Signing  Secret `json:"signing_secret"`
		} `json:"config"`
	} `json:"auth_method"`
}

// hookdeckRule is a rule of a connection. Interval is in milliseconds.
type hookdeckRule struct {
	Type     string `json:"type"`
	Strategy string `json:"strategy"`
	Interval uint64 `json:"interval"`
	Count    int    `json:"count"`
	Headers  any    `json:"headers"`
	Body     any    `json:"body"`
	Query    any    `json:"query"`
	Path     any    `json:"path"`
}

// eachOfHookdeck reads a list, whose pages have the form of Outpost's.
func eachOfHookdeck[T any](ctx context.Context, c *client, list string, query url.Values, each func(T) error) error {
	query.Set("dir", "asc")
	return eachPage[outpostPage[T]](ctx, c, hookdeckAPI+list, query, "limit", "next", eachOf(each))
}

// Endpoints implements System. Each connection becomes a destination: in Hookdeck it has the retries and the pause.
func (h *hookdeck) Endpoints(ctx context.Context, each func(Endpoint) error) error {
	return eachOfHookdeck(ctx, h.client, "/connections", url.Values{}, func(one hookdeckConnection) error {
		e := h.endpoint(one)
		return each(e.checked())
	})
}

func (h *hookdeck) endpoint(one hookdeckConnection) Endpoint {
	e := Endpoint{State: delivery.DestinationReady}
	to := one.Destination
	name := nameOf(Hookdeck, one.ID)
	e.Destination = delivery.Destination{Name: name, HTTP: &delivery.HTTP{URL: to.URL}}
	if to.URL == "" {
		e.Destination.HTTP = nil
		e.lose("destination", "it has no URL: it is a command line or a mock")
		return e
	}
	switch {
	case one.DisabledAt != nil || to.DisabledAt != nil:
		e.State, e.Reason = delivery.DestinationDisabled, "disabled in Hookdeck"
	case one.PausedAt != nil:
		e.State, e.Reason = delivery.DestinationPaused, "paused in Hookdeck since "+one.PausedAt.UTC().Format(time.RFC3339)
	}
	e.limit(to)
	h.authenticate(&e, to)
	if to.Method != "" && to.Method != http.MethodPost {
		e.hold("method "+to.Method, "Holdfast sends POST")
	}
	made := subscription(name, name, one.Source.Name, nil)
	made.Active = e.State != delivery.DestinationDisabled
	e.lose("source "+one.Source.Name, "point its sender to a provider of Holdfast, and let the subscription select that")
	for _, rule := range one.Rules {
		rule.apply(&e, &made)
	}
	e.Subscriptions = []delivery.Subscription{made}
	return e
}

func (e *Endpoint) limit(to hookdeckDestination) {
	seconds := map[string]uint64{"second": 1, "minute": 60, "hour": 3600}[to.RatePeriod]
	switch {
	case to.RatePeriod == "concurrent":
		e.Destination.InFlight = to.Rate
	case to.Rate > 0:
		e.Destination.Rate = perSecond(to.Rate, seconds)
	}
}

// authenticate declares Hookdeck's signature of the body, or a header.
func (h *hookdeck) authenticate(e *Endpoint, to hookdeckDestination) {
	hmac := map[string]any{
		"encoding": "base64", "signed": "{body}", "signature": map[string]any{"header": "x-hookdeck-signature"},
	}
	secret := h.signing
	if a := to.Auth; a != nil {
		switch a.Type {
		case "HOOKDECK_SIGNATURE":
		case "CUSTOM_SIGNATURE":
			hmac["signature"] = map[string]any{"header": a.Config.Key}
			secret = a.Config.Signing
		case "API_KEY":
			if a.Config.To == "query" {
				e.hold("API key", "it is a query parameter: add it to http.url")
			} else {
				e.Destination.HTTP.Headers = delivery.Headers{a.Config.Key: string(a.Config.APIKey)}
			}
		case "BEARER_TOKEN":
			e.Destination.HTTP.Headers = delivery.Headers{"authorization": "Bearer " + string(a.Config.Token)}
		case "BASIC_AUTH":
			e.Destination.HTTP.Headers = delivery.Headers{"authorization": basicAuth(a.Config.Username, string(a.Config.Password))}
		default:
			e.hold("authentication", "Holdfast has no equivalent of "+a.Type)
		}
	}
	e.Destination.HTTP.Signature = declare(hmac)
	if secret == "" {
		e.hold("signing secret", "Hookdeck's API doesn't return it: give it with --signing-secret-file")
		return
	}
	e.useSecrets([]Signing{{Secret: secret}})
}

func (r hookdeckRule) apply(e *Endpoint, s *delivery.Subscription) {
	switch r.Type {
	case "retry":
		pause := event.Duration(time.Duration(r.Interval) * time.Millisecond)
		if r.Count < 1 || pause <= 0 {
			return
		}
		if r.Strategy == "exponential" {
			e.Destination.Retry = delivery.Retry{Attempts: r.Count + 1, Initial: pause, Maximum: event.Duration(24 * time.Hour)}
			return
		}
		e.Destination.Retry = delivery.Retry{Attempts: r.Count + 1, Schedule: []event.Duration{pause}}
	case "filter":
		body, isObject := r.Body.(map[string]any)
		if r.Headers != nil || r.Query != nil || r.Path != nil || r.Body != nil && !isObject {
			e.hold("filter", "only filters of the body's fields can be translated")
			return
		}
		test, err := filter{root: ".body.data", of: Hookdeck}.jq(body)
		if err != nil {
			e.hold("filter", err.Error())
		}
		s.Events.Filter = and(s.Events.Filter, test)
	case "transform":
		e.hold("transformation", "its JavaScript needs to become the subscription's body, in jq")
	default:
		e.lose("rule "+r.Type, "Holdfast has no equivalent")
	}
}

type hookdeckEvent struct {
	ID         string    `json:"id"`
	Connection string    `json:"webhook_id"`
	SourceID   string    `json:"source_id"`
	RequestID  string    `json:"request_id"`
	Attempts   int       `json:"attempts"`
	CreatedAt  time.Time `json:"created_at"`
}

// Events implements System. Hookdeck has an event for each connection that a request leads to: the request's ID is the key.
func (h *hookdeck) Events(ctx context.Context, s Selection, each func(Event) error) error {
	sources := map[string]string{}
	if err := eachOfHookdeck(ctx, h.client, "/sources", url.Values{}, func(one hookdeckSource) error {
		sources[one.ID] = one.Name
		return checkKept(len(sources))
	}); err != nil {
		return err
	}
	query := url.Values{"created_at[gte]": {s.Since.UTC().Format(time.RFC3339)}, "order_by": {"created_at"}}
	if s.Undelivered {
		query["status"] = []string{"SCHEDULED", "QUEUED", "HOLD"}
	}
	if s.Failed {
		query.Add("status", "FAILED")
	}
	return eachOfHookdeck(ctx, h.client, "/events", query, func(one hookdeckEvent) error {
		var raw struct {
			Body string `json:"body"`
		}
		if err := h.get(ctx, hookdeckAPI+join("events", one.ID, "raw_body"), nil, &raw); err != nil {
			return err
		}
		e := Event{
			ID: one.RequestID, Source: sources[one.SourceID], Type: "hookdeck." + sources[one.SourceID], At: one.CreatedAt,
			Data: json.RawMessage(raw.Body), Attempts: one.Attempts,
		}
		if !json.Valid(e.Data) {
			e.Data = json.RawMessage(quoted(raw.Body))
		}
		if s.Undelivered || s.Failed {
			e.To = nameOf(Hookdeck, one.Connection)
		}
		return each(e)
	})
}

// InFlight implements System: Hookdeck's API doesn't tell queued events from those that it is sending.
func (*hookdeck) InFlight(context.Context) (int, error) { return 0, nil }
