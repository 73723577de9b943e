package movein

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// The statuses of a delivery. Convoy discards what it would send to an inactive endpoint.
const (
	convoyScheduled  = "Scheduled"
	convoyProcessing = "Processing"
	convoyRetry      = "Retry"
	convoyFailure    = "Failure"
)

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
	e = of.event(cmp.Or(d.Endpoint.Owner, d.EndpointID))
	if d.Source != nil && d.Source.ID != "" {
		e.Source = d.Source.ID
	}
	e.Attempts, e.To = d.Metadata.Trials, nameOf(Convoy, d.Subscription)
	return e, nil
}

func (e convoyEvent) event(source string) Event {
	return Event{ID: cmp.Or(e.Key, e.ID), Source: source, Type: e.Type, At: e.CreatedAt, Data: e.Data, IsGone: len(e.Data) == 0}
}

// history reads all events. One for endpoints of several owners becomes one for each.
func (c *convoy) history(ctx context.Context, s Selection, each func(Event) error) error {
	owners := map[string]string{}
	err := eachOfConvoy(ctx, c, "endpoints", url.Values{}, func(one convoyEndpoint) error {
		owners[one.ID] = cmp.Or(one.Owner, one.ID)
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
				sources[cmp.Or(owners[id], id)] = true
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
