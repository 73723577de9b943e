package movein

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"holdfast/delivery"
	"holdfast/event"
)

// convoyVersion is the version of the API whose answers are read: Convoy's DefaultAPIVersion at 2b60cc65 (August 2026).
const convoyVersion = "2025-11-24"

// convoy is a project of Convoy. https://github.com/frain-dev/convoy, api/api.go and datastore/models.go.
type convoy struct {
	*client

	project string
}

// The statuses of a delivery. Convoy discards what it would send to an inactive endpoint.
const (
	convoyScheduled  = "Scheduled"
	convoyProcessing = "Processing"
	convoyRetry      = "Retry"
	convoyFailure    = "Failure"
)

type convoyProject struct {
	Type   string `json:"type"`
	Config struct {
		Signature struct {
			Header   string `json:"header"`
			Versions []struct {
				Hash     string `json:"hash"`
				Encoding string `json:"encoding"`
			} `json:"versions"`
		} `json:"signature"`
		Strategy convoyStrategy `json:"strategy"`
	} `json:"config"`
}

// convoyStrategy is a retry policy. Its duration is in seconds.
type convoyStrategy struct {
	Type     string `json:"type"`
	Duration uint64 `json:"duration"`
	Count    int    `json:"retry_count"`
}

type convoyEndpoint struct {
	ID       string         `json:"uid"`
	Owner    string         `json:"owner_id"`
	URL      string         `json:"url"`
	Status   string         `json:"status"`
	Advanced bool           `json:"advanced_signatures"`
	Secrets  []convoySecret `json:"secrets"`
	// Timeout and RateDuration are in seconds.
	Timeout        uint64 `json:"http_timeout"`
	Rate           int    `json:"rate_limit"`
	RateDuration   uint64 `json:"rate_limit_duration"`
	ContentType    string `json:"content_type"`
	Authentication *struct {
		Type   string `json:"type"`
		APIKey *struct {
			Name  string `json:"header_name"`
			Value Secret `json:"header_value"`
		} `json:"api_key"`
	} `json:"authentication"`
	Certificate *struct{} `json:"mtls_client_cert"`
}

type convoySecret struct {
	Value     Secret     `json:"value"`
	ExpiresAt *time.Time `json:"expires_at"`
	DeletedAt *time.Time `json:"deleted_at"`
	CreatedAt time.Time  `json:"created_at"`
}

type convoySubscription struct {
	ID       string          `json:"uid"`
	Type     string          `json:"type"`
	Function *string         `json:"function"`
	Source   *convoyID       `json:"source_metadata"`
	Endpoint *convoyID       `json:"endpoint_metadata"`
	Retry    *convoyStrategy `json:"retry_config"`
	Filter   *struct {
		Types []string `json:"event_types"`
	} `json:"filter_config"`
}

type convoyID struct {
	ID   string `json:"uid"`
	Name string `json:"name"`
}

// convoyFilter is a filter of a subscription for one event type, or * for all. RawBody is as it was written; Body has its paths.
type convoyFilter struct {
	Type    string         `json:"event_type"`
	Headers map[string]any `json:"headers"`
	Body    map[string]any `json:"body"`
	RawBody map[string]any `json:"raw_body"`
	Query   map[string]any `json:"query"`
	Path    map[string]any `json:"path"`
}

// convoyPage is a page of a list.
type convoyPage[T any] struct {
	Data struct {
		Content    items[T] `json:"content"`
		Pagination struct {
			HasNext bool   `json:"has_next_page"`
			Next    string `json:"next_page_cursor"`
		} `json:"pagination"`
	} `json:"data"`
}

func (c *convoy) path(segments ...string) string {
	return "/api/v1/projects" + join(c.project) + join(segments...)
}

// eachOfConvoy reads all pages of a list, one after the other.
func eachOfConvoy[T any](ctx context.Context, c *convoy, list string, query url.Values, each func(T) error) error {
	query.Set("perPage", strconv.Itoa(pageSize))
	query.Set("direction", "next")
	var read pages
	for {
		var page convoyPage[T]
		if err := c.get(ctx, c.path(list), query, &page); err != nil {
			return err
		}
		for _, one := range page.Data.Content {
			if err := each(one); err != nil {
				return err
			}
		}
		if !page.Data.Pagination.HasNext {
			return nil
		}
		if err := read.next(page.Data.Pagination.Next); err != nil {
			return fmt.Errorf("GET %s: %w", c.path(list), err)
		}
		query.Set("next_page_cursor", page.Data.Pagination.Next)
	}
}

// Endpoints implements System. The subscriptions are read first: those of a project fit into memory.
func (c *convoy) Endpoints(ctx context.Context, each func(Endpoint) error) error {
	var project struct {
		Data convoyProject `json:"data"`
	}
	if err := c.get(ctx, c.path(), nil, &project); err != nil {
		return err
	}
	subscriptions := map[string][]convoySubscription{}
	n := 0
	err := eachOfConvoy(ctx, c, "subscriptions", url.Values{}, func(s convoySubscription) error {
		if s.Endpoint != nil {
			subscriptions[s.Endpoint.ID] = append(subscriptions[s.Endpoint.ID], s)
			n++
		}
		return checkKept(n)
	})
	if err != nil {
		return err
	}
	return eachOfConvoy(ctx, c, "endpoints", url.Values{}, func(one convoyEndpoint) error {
		e := c.endpoint(project.Data, one)
		for _, s := range subscriptions[one.ID] {
			if err := c.subscribe(ctx, &e, one, s); err != nil {
				return err
			}
		}
		if len(e.Subscriptions) == 0 {
			e.lose("events", "no subscription leads to it")
		}
		return each(e.checked())
	})
}

func (c *convoy) endpoint(p convoyProject, one convoyEndpoint) Endpoint {
	e := Endpoint{State: delivery.DestinationReady}
	e.Destination = delivery.Destination{
		Name: nameOf(Convoy, one.ID), HTTP: &delivery.HTTP{URL: one.URL}, Timeout: durationOf(one.Timeout),
		Rate: perSecond(one.Rate, one.RateDuration), Retry: p.Config.Strategy.retry(),
	}
	switch one.Status {
	case "inactive":
		e.State, e.Reason = delivery.DestinationDisabled, "inactive in Convoy"
	case "paused":
		e.State, e.Reason = delivery.DestinationPaused, "paused in Convoy"
	}
	c.sign(&e, p, one.Advanced)
	e.useSecrets(signingOf(one.Secrets))
	c.authenticate(&e, one)
	if one.ContentType != "" && one.ContentType != "application/json" {
		e.hold("content type", "Holdfast sends JSON")
	}
	return e
}

// signingOf returns the secrets that Convoy signs with, the newest first: it appends new ones. A replaced one signs until it is
// deleted. Convoy deletes it as many hours after the replacement as expires_at is seconds after it (services/expire_secret.go).
func signingOf(all []convoySecret) (secrets []Signing) {
	for i, s := range all {
		if s.DeletedAt != nil && !s.DeletedAt.IsZero() {
			continue
		}
		one := Signing{Secret: s.Value}
		if i+1 < len(all) && s.ExpiresAt != nil {
			replaced := all[i+1].CreatedAt
			const hoursPerSecond = int64(time.Hour / time.Second)
			one.Until = replaced.Add(time.Duration(int64(s.ExpiresAt.Sub(replaced).Round(time.Second)) * hoursPerSecond))
		}
		secrets = append([]Signing{one}, secrets...)
	}
	return secrets
}

// sign declares Convoy's signature: of the body, or in an advanced header of "time,body" with each secret.
// https://github.com/frain-dev/convoy/blob/main/pkg/signature/signature.go
func (c *convoy) sign(e *Endpoint, p convoyProject, isAdvanced bool) {
	versions := p.Config.Signature.Versions
	if len(versions) == 0 {
		e.hold("signature", "the project declares none")
		return
	}
	last := versions[len(versions)-1]
	algorithm := map[string]string{"SHA256": "sha256", "SHA512": "sha512"}[last.Hash]
	if algorithm == "" {
		e.hold("signature", "its hash is unknown")
		return
	}
	hmac := map[string]any{
		"algorithm": algorithm, "encoding": last.Encoding, "signed": "{body}",
		"signature": map[string]any{"header": p.Config.Signature.Header},
	}
	if isAdvanced {
		hmac["signed"] = "{timestamp},{body}"
		hmac["signature"] = map[string]any{
			"header": p.Config.Signature.Header, "grammar": "pairs", "separator": ",", "field": fmt.Sprintf("v%d", len(versions)),
		}
		hmac["timestamp"] = map[string]any{"field": "t"}
	}
	if isAdvanced && len(versions) > 1 {
		e.hold("older signature versions", fmt.Sprintf(
			"Holdfast signs in the newest, v%d, only: resume it if the endpoint verifies that", len(versions)))
	}
	e.Destination.HTTP.Signature = declare(hmac)
}

func declare(hmac map[string]any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{"hmac": hmac}) //nolint:errchkjson // it has only texts
	return text
}

func (c *convoy) authenticate(e *Endpoint, one convoyEndpoint) {
	switch a := one.Authentication; {
	case a == nil:
	case a.APIKey != nil && a.APIKey.Name != "":
		e.Destination.HTTP.Headers = delivery.Headers{a.APIKey.Name: string(a.APIKey.Value)}
	case a.Type == "basic_auth":
		e.hold("password", "Convoy's API doesn't return it: set the header Authorization")
	case a.Type == "oauth2":
		e.hold("OAuth 2 client", "Holdfast can't request tokens: set a header")
	}
	if one.Certificate != nil {
		e.hold("client certificate", "Convoy's API doesn't return its key: set http.certificate and http.key")
	}
}

// subscribe adds a subscription of the endpoint.
func (c *convoy) subscribe(ctx context.Context, e *Endpoint, to convoyEndpoint, s convoySubscription) error {
	if s.Type == "cli" {
		return nil // of a developer's machine
	}
	source := sourceOf(to.Owner, to.ID)
	if s.Source != nil && s.Source.ID != "" {
		source = s.Source.ID
		e.lose("source "+s.Source.Name, "point its sender to a provider of Holdfast, and let the subscription select that")
	}
	var types []string
	if s.Filter != nil {
		types = withoutAll(s.Filter.Types)
	}
	made := subscription(nameOf(Convoy, s.ID), e.Destination.Name, source, types)
	made.Active = e.State != delivery.DestinationDisabled
	if s.Retry != nil && s.Retry.Count > 0 {
		e.Destination.Retry = s.Retry.retry()
	}
	if s.Function != nil && *s.Function != "" {
		e.hold("function", "its JavaScript needs to become the subscription's body, in jq")
	}
	var filters struct {
		Data items[convoyFilter] `json:"data"`
	}
	if err := c.get(ctx, c.path("subscriptions", s.ID, "filters"), nil, &filters); err != nil && !isNotFound(err) {
		return err
	}
	for _, f := range filters.Data {
		made.Events.Filter = and(made.Events.Filter, f.jq(e))
	}
	e.Subscriptions = append(e.Subscriptions, made)
	return nil
}

// jq translates a filter; "" for one that selects everything.
func (f convoyFilter) jq(e *Endpoint) string {
	if len(f.Headers)+len(f.Query)+len(f.Path) > 0 {
		e.hold("filter of headers, query or path", "published events have none: filter by a field of the body")
		return ""
	}
	body := f.RawBody
	if len(body) == 0 {
		body = f.Body
	}
	test, err := filter{root: ".body.data", of: Convoy}.jq(body)
	if err != nil {
		e.hold("filter", err.Error())
	}
	if test == "" || f.Type == "*" || f.Type == "" {
		return test
	}
	return "(.event.type != " + quoted(f.Type) + " or " + test + ")"
}

// withoutAll returns nil for a list that selects everything.
func withoutAll(types []string) []string {
	if len(types) == 0 {
		return nil
	}
	for _, one := range types {
		if one == "*" {
			return nil
		}
	}
	return types
}

func sourceOf(owner, endpoint string) string {
	if owner != "" {
		return owner
	}
	return endpoint
}

// retry returns the policy of a strategy. Convoy counts all attempts, and its exponential pauses begin with twice the duration.
func (s convoyStrategy) retry() delivery.Retry {
	if s.Count == 0 || s.Duration == 0 {
		return delivery.Retry{}
	}
	if s.Type == "exponential" {
		const most = 7200 // seconds
		return delivery.Retry{Attempts: s.Count, Initial: durationOf(min(2*s.Duration, most)), Maximum: durationOf(most)}
	}
	return delivery.Retry{Attempts: s.Count, Schedule: []event.Duration{durationOf(s.Duration)}}
}

type convoyEvent struct {
	ID          string          `json:"uid"`
	Type        string          `json:"event_type"`
	SourceID    string          `json:"source_id"`
	Endpoints   []string        `json:"endpoints"`
	Key         string          `json:"idempotency_key"`
	IsDuplicate bool            `json:"is_duplicate_event"`
	Data        json.RawMessage `json:"data"`
	CreatedAt   time.Time       `json:"created_at"`
}

type convoyDelivery struct {
	ID           string `json:"uid"`
	EventID      string `json:"event_id"`
	Subscription string `json:"subscription_id"`
	EndpointID   string `json:"endpoint_id"`
	Type         string `json:"event_type"`
	Endpoint     struct {
		Owner string `json:"owner_id"`
	} `json:"endpoint_metadata"`
	Source    *convoyID `json:"source_metadata"`
	Key       string    `json:"idempotency_key"`
	CreatedAt time.Time `json:"created_at"`
	// Metadata has the body that is sent.
	Metadata struct {
		Data   json.RawMessage `json:"data"`
		Trials int             `json:"num_trials"`
	} `json:"metadata"`
}

// period is Convoy's: without one, it lists the last seven days.
func (c *convoy) period(s Selection) url.Values {
	const layout = "2006-01-02T15:04:05"
	return url.Values{
		"startDate": {s.Since.UTC().Format(layout)}, "endDate": {time.Now().UTC().Add(24 * time.Hour).Format(layout)}, "sort": {"ASC"},
	}
}

// Events implements System.
func (c *convoy) Events(ctx context.Context, s Selection, each func(Event) error) error {
	if !s.Undelivered && !s.Failed {
		return c.history(ctx, s, each)
	}
	query := c.period(s)
	if s.Undelivered {
		query["status"] = []string{convoyScheduled, convoyProcessing, convoyRetry}
	}
	if s.Failed {
		query.Add("status", convoyFailure)
	}
	return eachOfConvoy(ctx, c, "eventdeliveries", query, func(d convoyDelivery) error {
		e, err := c.undelivered(ctx, d)
		if err != nil {
			return err
		}
		return each(e)
	})
}

// undelivered returns the event of a delivery. An older Convoy keeps the body with the event only.
func (c *convoy) undelivered(ctx context.Context, d convoyDelivery) (e Event, err error) {
	of := convoyEvent{ID: d.EventID, Type: d.Type, Key: d.Key, Data: d.Metadata.Data, CreatedAt: d.CreatedAt}
	if len(of.Data) == 0 || string(of.Data) == "null" {
		var answer struct {
			Data convoyEvent `json:"data"`
		}
		if err := c.get(ctx, c.path("events", d.EventID), nil, &answer); err != nil {
			return e, err
		}
		of = answer.Data
	}
	e = of.event(sourceOf(d.Endpoint.Owner, d.EndpointID))
	if d.Source != nil && d.Source.ID != "" {
		e.Source = d.Source.ID
	}
	e.Attempts, e.To = d.Metadata.Trials, nameOf(Convoy, d.Subscription)
	return e, nil
}

func (e convoyEvent) event(source string) Event {
	id := e.Key
	if id == "" {
		id = e.ID
	}
	return Event{ID: id, Source: source, Type: e.Type, At: e.CreatedAt, Data: e.Data, IsGone: len(e.Data) == 0}
}

// history reads all events. One for endpoints of several owners becomes one for each.
func (c *convoy) history(ctx context.Context, s Selection, each func(Event) error) error {
	owners := map[string]string{}
	err := eachOfConvoy(ctx, c, "endpoints", url.Values{}, func(one convoyEndpoint) error {
		owners[one.ID] = sourceOf(one.Owner, one.ID)
		return checkKept(len(owners))
	})
	if err != nil {
		return err
	}
	return eachOfConvoy(ctx, c, "events", c.period(s), func(e convoyEvent) error {
		if e.IsDuplicate {
			return nil
		}
		sources := map[string]bool{}
		if e.SourceID != "" {
			sources[e.SourceID] = true
		} else {
			for _, id := range e.Endpoints {
				sources[sourceOf(owners[id], id)] = true
			}
		}
		for source := range sources {
			if err := each(e.event(source)); err != nil {
				return err
			}
		}
		return nil
	})
}

// InFlight implements System.
func (c *convoy) InFlight(ctx context.Context) (n int, err error) {
	query := c.period(Selection{Since: time.Now().AddDate(0, -1, 0)})
	query["status"] = []string{convoyProcessing}
	err = eachOfConvoy(ctx, c, "eventdeliveries", query, func(convoyDelivery) error { n++; return nil })
	return n, err
}
