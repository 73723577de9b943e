package movein

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/delivery"
)

// outpost is an Outpost with all its tenants.
// https://github.com/hookdeck/outpost, docs/apis/openapi.yaml at f67ae011 (August 2026).
type outpost struct {
	*client

	// known are the tenants to read; none means all.
	known []string
}

type outpostDestination struct {
	ID          string            `json:"id"`
	Type        string            `json:"type"`
	Topics      json.RawMessage   `json:"topics"` // "*", or a list
	Filter      map[string]any    `json:"filter"`
	Config      map[string]string `json:"config"`
	Credentials struct {
		Secret          Secret     `json:"secret"`
		Previous        Secret     `json:"previous_secret"`
		PreviousInvalid *time.Time `json:"previous_secret_invalid_at"`
	} `json:"credentials"`
	Metadata   map[string]string `json:"delivery_metadata"`
	DisabledAt *time.Time        `json:"disabled_at"`
}

// outpostSettings are the settings of signatures. The API returns them only from a managed Outpost.
type outpostSettings struct {
	Mode      string `json:"DESTINATIONS_WEBHOOK_MODE"`
	Prefix    string `json:"DESTINATIONS_WEBHOOK_HEADER_PREFIX"`
	Header    string `json:"DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME"`
	Content   string `json:"DESTINATIONS_WEBHOOK_SIGNATURE_CONTENT_TEMPLATE"`
	Format    string `json:"DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_TEMPLATE"`
	Algorithm string `json:"DESTINATIONS_WEBHOOK_SIGNATURE_ALGORITHM"`
	Encoding  string `json:"DESTINATIONS_WEBHOOK_SIGNATURE_ENCODING"`

	isUnknown bool
}

type outpostPage[T any] struct {
	Models     items[T] `json:"models"`
	Pagination struct {
		Next string `json:"next"`
	} `json:"pagination"`
}

const (
	outpostAPI     = "/api/v1"
	standardPrefix = "webhook-"
)

func (p outpostPage[T]) part() []T { return p.Models }

func (p outpostPage[T]) next() (cursor string, hasNext bool) {
	return p.Pagination.Next, p.Pagination.Next != ""
}

// eachOfOutpost reads a list, page by page.
func eachOfOutpost[T any](ctx context.Context, c *client, path string, query url.Values, each func([]T) error) error {
	return eachPage[outpostPage[T]](ctx, c, outpostAPI+path, query, "limit", "next", each)
}

// tenants calls each for every tenant. Outpost lists them only if its Redis has RediSearch.
func (o *outpost) tenants(ctx context.Context, each func(id string) error) error {
	for _, id := range o.known {
		if err := each(id); err != nil {
			return err
		}
	}
	if len(o.known) > 0 {
		return nil
	}
	type tenant struct {
		ID string `json:"id"`
	}
	err := eachOfOutpost(ctx, o.client, "/tenants", url.Values{"dir": {"asc"}}, eachOf(func(t tenant) error { return each(t.ID) }))
	if hasStatus(err, http.StatusNotImplemented) {
		return errors.New("this Outpost can't list its tenants, because its Redis has no RediSearch: name each with --tenant")
	}
	return err
}

// Endpoints implements System.
func (o *outpost) Endpoints(ctx context.Context, each func(Endpoint) error) error {
	var settings outpostSettings
	err := o.get(ctx, outpostAPI+"/config", nil, &settings)
	if settings.isUnknown = isNotFound(err); err != nil && !settings.isUnknown {
		return err
	}
	return o.tenants(ctx, func(tenant string) error {
		var all items[outpostDestination]
		if err := o.get(ctx, outpostAPI+join("tenants", tenant, "destinations"), nil, &all); err != nil {
			return err
		}
		for _, one := range all {
			e, err := o.endpoint(settings, tenant, one)
			if err == nil {
				err = each(e.checked())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *outpost) endpoint(settings outpostSettings, tenant string, one outpostDestination) (Endpoint, error) {
	e := Endpoint{State: delivery.DestinationReady}
	e.Destination = delivery.Destination{Name: nameInOutpost(tenant, one.ID), HTTP: &delivery.HTTP{URL: one.Config["url"]}}
	if one.Type != "webhook" {
		e.Destination.HTTP = nil
		e.lose("destination", "it is a %s: declare it in subscriptions.yaml if Holdfast has that kind", one.Type)
		return e, nil
	}
	if one.DisabledAt != nil {
		e.State, e.Reason = delivery.DestinationDisabled, "disabled in Outpost since "+one.DisabledAt.UTC().Format(time.RFC3339)
	}
	settings.sign(&e)
	secrets := []Signing{{Secret: one.Credentials.Secret}}
	if p := one.Credentials; p.Previous != "" && p.PreviousInvalid != nil && p.PreviousInvalid.After(time.Now()) {
		secrets = append(secrets, Signing{p.Previous, *p.PreviousInvalid})
	}
	e.useSecrets(secrets)
	headers := map[string]string{}
	if text := one.Config["custom_headers"]; text != "" && json.Unmarshal([]byte(text), &headers) != nil {
		return e, errors.New("custom_headers of " + one.ID + " isn't an object of texts")
	}
	for name, value := range one.Metadata {
		headers[settings.prefix()+name] = value
	}
	if len(headers) > 0 {
		e.Destination.HTTP.Headers = headers
	}
	e.lose("headers", "%stopic, %[1]sevent-id, %[1]stimestamp and those of an event's metadata aren't sent", settings.prefix())
	err := o.subscribe(&e, tenant, one)
	return e, err
}

// nameInOutpost returns the name of a destination. Another tenant may use the same ID.
func nameInOutpost(tenant, id string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + id))
	hash := "-" + hex.EncodeToString(sum[:4])
	name := nameOf(Outpost, id)
	return name[:min(len(name), maxName-len(hash))] + hash
}

func (s outpostSettings) prefix() string {
	switch {
	case s.Prefix == "" && s.Mode == "standard":
		return standardPrefix
	case s.Prefix == "":
		return "x-outpost-"
	}
	return strings.TrimSpace(s.Prefix)
}

// sign declares Outpost's default signature, of the body: v0=SIGNATURE,SIGNATURE with each secret.
// https://github.com/hookdeck/outpost, internal/destregistry/providers/destwebhook/destwebhook.go
func (s outpostSettings) sign(e *Endpoint) {
	if s.isUnknown {
		e.lose("signature settings", "this Outpost doesn't return them: check that it signs as by default, in x-outpost-signature")
	}
	if s.Mode == "standard" {
		if s.prefix() != standardPrefix {
			e.hold("header prefix", "Holdfast sends "+standardPrefix+"id, -timestamp and -signature: declare http.signature")
		}
		return // Standard Webhooks, as Holdfast signs
	}
	if s.Content != "" && s.Content != "{{.Body}}" || s.Format != "" && s.Format != `v0={{.Signatures | join ","}}` ||
		s.Algorithm != "" && s.Algorithm != "hmac-sha256" {
		e.hold("signature", "this Outpost has custom templates: declare http.signature")
		return
	}
	e.Destination.HTTP.Signature = declare(map[string]any{
		"encoding": cmp.Or(s.Encoding, "hex"), "signed": "{body}",
		"signature": map[string]any{
			"header": cmp.Or(s.Header, s.prefix()+"signature"), "grammar": "list", "separator": ",", "prefix": "v0=",
		},
	})
}

func (o *outpost) subscribe(e *Endpoint, tenant string, one outpostDestination) error {
	var topics []string
	var all string
	if json.Unmarshal(one.Topics, &topics) != nil && json.Unmarshal(one.Topics, &all) != nil {
		return fmt.Errorf("topics of %s is neither a list nor a text", one.ID)
	}
	made := subscription(e.Destination.Name, e.Destination.Name, tenant, withoutAll(topics))
	made.Active = e.State != delivery.DestinationDisabled
	for _, part := range slices.Sorted(maps.Keys(one.Filter)) {
		root := map[string]string{"data": ".body.data", "topic": ".event.type"}[part]
		below, isObject := one.Filter[part].(map[string]any)
		if root == "" || !isObject {
			e.hold("filter", "only filters of data's fields can be translated, not of "+part)
			continue
		}
		test, err := filter{root: root, of: Outpost}.jq(below)
		if err != nil {
			e.hold("filter", err.Error())
		}
		made.Events.Filter = and(made.Events.Filter, test)
	}
	e.Subscriptions = []delivery.Subscription{made}
	return nil
}

type outpostEvent struct {
	ID      string          `json:"id"`
	Tenant  string          `json:"tenant_id"`
	Matched []string        `json:"matched_destination_ids"`
	Topic   string          `json:"topic"`
	Time    time.Time       `json:"time"`
	Data    json.RawMessage `json:"data"`
}

func (e outpostEvent) event() Event {
	return Event{ID: e.ID, Source: e.Tenant, Type: e.Topic, At: e.Time, Data: e.Data}
}

type outpostDelivery struct {
	Tenant      string `json:"tenant_id"`
	Event       string `json:"event_id"`
	Destination string `json:"destination_id"`
}

type outpostAttempt struct {
	outpostDelivery

	Status string `json:"status"`
}

// Events implements System. Outpost lists an event only once the first attempt of it has ended.
func (o *outpost) Events(ctx context.Context, s Selection, each func(Event) error) error {
	query := url.Values{"dir": {"asc"}, "time[gte]": {s.Since.UTC().Format(time.RFC3339)}}
	for _, id := range o.known {
		query.Add("tenant_id[]", id)
	}
	return eachOfOutpost(ctx, o.client, "/events", query, func(page []outpostEvent) error {
		if s.Undelivered || s.Failed {
			return o.undelivered(ctx, page, each)
		}
		return eachOf(func(one outpostEvent) error { return each(one.event()) })(page)
	})
}

// undelivered calls each for the undelivered events of a page. Outpost lists attempts, not deliveries: an event is undelivered at
// a matched destination without a successful attempt.
func (o *outpost) undelivered(ctx context.Context, page []outpostEvent, each func(Event) error) error {
	tried, done := map[outpostDelivery]int{}, map[outpostDelivery]bool{}
	for _, one := range page {
		for _, to := range one.Matched {
			tried[outpostDelivery{one.Tenant, one.ID, to}] = 0
		}
	}
	err := o.attempts(ctx, page, func(a outpostAttempt) {
		if _, isMatched := tried[a.outpostDelivery]; isMatched {
			tried[a.outpostDelivery]++
			done[a.outpostDelivery] = done[a.outpostDelivery] || a.Status == "success"
		}
	})
	if err != nil {
		return err
	}
	for _, one := range page {
		for _, to := range one.Matched {
			d := outpostDelivery{one.Tenant, one.ID, to}
			if done[d] {
				continue
			}
			e := one.event()
			e.To, e.Attempts = nameInOutpost(one.Tenant, to), tried[d]
			if err := each(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// attempts reads the attempts of a page's events.
func (o *outpost) attempts(ctx context.Context, of []outpostEvent, each func(outpostAttempt)) error {
	if len(of) == 0 {
		return nil // without event_id[], the list has the attempts of all events
	}
	query := url.Values{}
	for _, one := range of {
		query.Add("event_id[]", one.ID)
	}
	return eachOfOutpost(ctx, o.client, "/attempts", query, eachOf(func(a outpostAttempt) error {
		if a.Tenant == "" { // whose attempt it was isn't known: a delivery could be sent twice
			return errors.New("this Outpost lists attempts without tenant_id: update it first")
		}
		each(a)
		return nil
	}))
}

// InFlight implements System: Outpost's API doesn't tell.
func (*outpost) InFlight(context.Context) (int, error) { return 0, nil }
