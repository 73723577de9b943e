package movein

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"holdfast/delivery"
)

// convoyVersion is the version of the API whose answers are read: Convoy's DefaultAPIVersion at 2b60cc65 (August 2026).
const convoyVersion = "2025-11-24"

// convoy is a project of Convoy. https://github.com/frain-dev/convoy, api/api.go and datastore/models.go.
type convoy struct {
	*client

	project string
}

type convoyProject struct {
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

type convoyID struct {
	ID   string `json:"uid"`
	Name string `json:"name"`
}

func (c *convoy) path(segments ...string) string {
	return "/api/v1/projects" + join(c.project) + join(segments...)
}

func (p convoyPage[T]) part() []T { return p.Data.Content }

func (p convoyPage[T]) next() (cursor string, hasNext bool) {
	return p.Data.Pagination.Next, p.Data.Pagination.HasNext
}

// eachOfConvoy reads a list.
func eachOfConvoy[T any](ctx context.Context, c *convoy, list string, query url.Values, each func(T) error) error {
	query.Set("direction", "next")
	return eachPage[convoyPage[T]](ctx, c.client, c.path(list), query, "perPage", "next_page_cursor", eachOf(each))
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
