package movein

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"holdfast/delivery"
)

// svix is a Svix environment with all its applications. Routes and fields: the npm package svix 1.99.1, src/api and src/models.
type svix struct{ *client }

type svixApplication struct {
	ID  string `json:"id"`
	UID string `json:"uid"`
}

// source is the application's ID that its publisher uses.
func (a svixApplication) source() string {
	return cmp.Or(a.UID, a.ID)
}

type svixEndpoint struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Channels []string `json:"channels"`
	Types    []string `json:"filterTypes"`
	Disabled bool     `json:"disabled"`
	// Throttle and Rate are in messages per second; Rate is the older name.
	Throttle int `json:"throttleRate"`
	Rate     int `json:"rateLimit"`
}

type svixMessage struct {
	ID        string          `json:"id"`
	EventID   string          `json:"eventId"`
	Type      string          `json:"eventType"`
	Payload   json.RawMessage `json:"payload"`
	Channels  []string        `json:"channels"`
	Timestamp time.Time       `json:"timestamp"`
}

// The statuses of a message at an endpoint. Canceled ones (4) aren't sent any more.
const (
	svixPending = 1
	svixFailed  = 2
	svixSending = 3
)

type svixPage[T any] struct {
	Data     items[T] `json:"data"`
	Done     bool     `json:"done"`
	Iterator string   `json:"iterator"`
}

func (p svixPage[T]) part() []T                           { return p.Data }
func (p svixPage[T]) next() (cursor string, hasNext bool) { return p.Iterator, !p.Done }

// eachOfSvix reads a list.
func eachOfSvix[T any](ctx context.Context, c *client, path string, query url.Values, each func(T) error) error {
	return eachPage[svixPage[T]](ctx, c, path, query, "limit", "iterator", eachOf(each))
}

const svixAPI = "/api/v1/app"

// eachEndpoint calls each for every endpoint of every application.
func (s *svix) eachEndpoint(ctx context.Context, each func(svixApplication, svixEndpoint) error) error {
	return eachOfSvix(ctx, s.client, svixAPI, url.Values{}, func(app svixApplication) error {
		return eachOfSvix(ctx, s.client, svixAPI+join(app.ID, "endpoint"), url.Values{}, func(one svixEndpoint) error {
			return each(app, one)
		})
	})
}

// Endpoints implements System.
func (s *svix) Endpoints(ctx context.Context, each func(Endpoint) error) error {
	return s.eachEndpoint(ctx, func(app svixApplication, one svixEndpoint) error {
		e := Endpoint{State: delivery.DestinationReady}
		name := nameOf(Svix, one.ID)
		e.Destination = delivery.Destination{
			Name: name, HTTP: &delivery.HTTP{URL: one.URL, Signature: svixSignature()}, Rate: perSecond(max(one.Throttle, one.Rate), 1),
		}
		if one.Disabled {
			e.State, e.Reason = delivery.DestinationDisabled, "disabled in Svix"
		}
		made := subscription(name, name, app.source(), withoutAll(one.Types))
		made.Active = !one.Disabled
		if len(one.Channels) > 0 {
			channels, _ := json.Marshal(one.Channels)
			made.Events.Filter = and(made.Events.Filter, "any(.body.channels[]?; . as $c | any("+string(channels)+"[]; . == $c))")
		}
		e.Subscriptions = []delivery.Subscription{made}
		if err := s.addSecrets(ctx, &e, svixAPI+join(app.ID, "endpoint", one.ID)); err != nil {
			return err
		}
		return each(e.checked())
	})
}

// svixSignature is Standard Webhooks with Svix's names. https://docs.svix.com/receiving/verifying-payloads/how-manual
func svixSignature() json.RawMessage {
	return declare(map[string]any{
		"key": "base64", "key_prefix": delivery.SecretPrefix, "encoding": "base64", "signed": "{id}.{timestamp}.{body}",
		"signature": map[string]any{"header": "svix-signature", "grammar": "versions", "field": "v1"},
		"timestamp": map[string]any{"header": "svix-timestamp"}, "id": map[string]any{"header": "svix-id"},
	})
}

// addSecrets reads the endpoint's secret, its headers and whether it transforms messages.
func (s *svix) addSecrets(ctx context.Context, e *Endpoint, path string) error {
	var secret struct {
		Key Secret `json:"key"`
	}
	if err := s.get(ctx, path+"/secret", nil, &secret); err != nil {
		return err
	}
	e.useSecrets([]Signing{{Secret: secret.Key}})
	e.lose("replaced secrets", "Svix's API returns the current one only: cut over a day after the last rotation")
	var headers struct {
		Headers   delivery.Headers `json:"headers"`
		Sensitive []string         `json:"sensitive"`
	}
	if err := s.get(ctx, path+"/headers", nil, &headers); err != nil && !isNotFound(err) {
		return err
	}
	if len(headers.Headers) > 0 {
		e.Destination.HTTP.Headers = headers.Headers
	}
	for _, name := range headers.Sensitive {
		e.hold("header "+name, "Svix's API doesn't return its value: set it")
	}
	var transformation struct {
		Enabled bool `json:"enabled"`
	}
	if err := s.get(ctx, path+"/transformation", nil, &transformation); err != nil && !isNotFound(err) {
		return err
	}
	if transformation.Enabled {
		e.hold("transformation", "its JavaScript needs to become the subscription's body, in jq")
	}
	return nil
}

// Events implements System.
func (s *svix) Events(ctx context.Context, of Selection, each func(Event) error) error {
	query := func() url.Values {
		return url.Values{"after": {of.Since.UTC().Format(time.RFC3339)}, "with_content": {"true"}}
	}
	if !of.Undelivered && !of.Failed {
		return eachOfSvix(ctx, s.client, svixAPI, url.Values{}, func(app svixApplication) error {
			return eachOfSvix(ctx, s.client, svixAPI+join(app.ID, "msg"), query(), func(m svixMessage) error {
				return each(m.event(app, ""))
			})
		})
	}
	var statuses []int
	if of.Undelivered {
		statuses = append(statuses, svixPending, svixSending)
	}
	if of.Failed {
		statuses = append(statuses, svixFailed)
	}
	return s.eachEndpoint(ctx, func(app svixApplication, one svixEndpoint) error {
		for _, status := range statuses {
			q := query()
			q.Set("status", strconv.Itoa(status))
			path := svixAPI + join(app.ID, "endpoint", one.ID, "msg")
			if err := eachOfSvix(ctx, s.client, path, q, func(m svixMessage) error {
				return each(m.event(app, nameOf(Svix, one.ID)))
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m svixMessage) event(app svixApplication, to string) Event {
	return Event{
		ID: cmp.Or(m.EventID, m.ID), Source: app.source(), Type: m.Type, At: m.Timestamp, Data: m.Payload, To: to, Channels: m.Channels,
		IsGone: isGoneInSvix(m.Payload),
	}
}

// isGoneInSvix reports whether Svix has deleted a payload. It then answers with this text, which is no message.
// https://github.com/svix/svix-webhooks, server/svix-server/src/v1/endpoints/message.rs
func isGoneInSvix(payload json.RawMessage) bool {
	var compact bytes.Buffer
	return json.Compact(&compact, payload) != nil || compact.String() == `{"expired":true}`
}

// InFlight implements System.
func (s *svix) InFlight(ctx context.Context) (n int, err error) {
	err = s.eachEndpoint(ctx, func(app svixApplication, one svixEndpoint) error {
		q := url.Values{"status": {strconv.Itoa(svixSending)}}
		return eachOfSvix(ctx, s.client, svixAPI+join(app.ID, "endpoint", one.ID, "msg"), q, func(svixMessage) error {
			n++
			return nil
		})
	})
	return n, err
}
