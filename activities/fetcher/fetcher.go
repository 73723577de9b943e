package fetcher

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// Rates grants requests from rate limits that all processes share.
type Rates interface {
	TakeRates(ctx context.Context, claims []event.RateClaim) ([]event.RateGrant, error)
}

// Fetcher gets states. It is safe for concurrent use.
type Fetcher struct {
	// Lookup returns a provider with its current definition.
	Lookup func(name string) (*providers.Provider, bool)
	Client *client.Client
	Rates  Rates
}

// CanFetch reports whether the credential for what an event needs is configured.
func (f *Fetcher) CanFetch(r event.Receipt, body []byte) bool {
	_, of, _, err := f.find(r, body)
	return err == nil && of != nil && f.Client.CanFetch(of)
}

// Fetch gets the state that an event names, or the state that it was fetched for names, at the rate of the provider's API. It
// returns it with the states of the receipt. The error is an *event.Error, or that of the context or the database.
func (f *Fetcher) Fetch(ctx context.Context, r event.Receipt, body []byte) (event.Fetched, error) {
	p, of, values, err := f.find(r, body)
	switch {
	case err != nil:
		return event.Fetched{}, err
	case of == nil:
		return event.Fetched{}, &event.Error{
			Class: event.ClassFailed, Code: "fetch_changed", Text: "the definition no longer fetches anything for this event",
		}
	}
	if err := f.permit(ctx, p); err != nil {
		return event.Fetched{}, err
	}
	at := time.Now()
	state, err := f.Client.Fetch(ctx, of, values)
	if failed, ok := errors.AsType[*recovery.Error](err); ok {
		return event.Fetched{}, failure(failed)
	}
	if r.Fetched != nil {
		return r.Fetched.And(state), err
	}
	return event.Fetched{At: at, Gone: state == nil, State: state, Bytes: len(state)}, err
}

func (f *Fetcher) find(
	r event.Receipt, body []byte,
) (*providers.Provider, *recovery.Fetch, map[string]string, error) {
	p, ok := f.Lookup(r.Provider)
	if !ok {
		return nil, nil, nil, &event.Error{
			Class: event.ClassFailed, Code: event.CodeUnknownProvider, Text: "this process has no definition of provider " + r.Provider,
		}
	}
	of, values, err := p.FetchOf(r, body)
	return p, of, values, err
}

const (
	// shortWait is how long a fetch waits for its rate in its slot. A longer wait is a retry, which leaves the slot to others.
	shortWait = time.Second
	// longestWait bounds the pause before a fetch asks for its rate again.
	longestWait = 5 * time.Minute
	// limitedFor is the pause after a 429 that names none.
	limitedFor = 30 * time.Second
)

// permit returns once the rate of the provider's API allows one more request, of all processes together. The error is transient
// if that takes longer.
func (f *Fetcher) permit(ctx context.Context, p *providers.Provider) error {
	rate := p.APIRate()
	claim := []event.RateClaim{{Name: "api:" + p.Name(), Requests: rate.Requests, Per: time.Duration(rate.Per), Want: 1}}
	for until := time.Now().Add(shortWait); ; {
		grants, err := f.Rates.TakeRates(ctx, claim)
		if err != nil || grants[0].Granted > 0 {
			return err
		}
		wait := grants[0].Wait
		if time.Now().Add(wait).After(until) {
			return &event.Error{
				Class: event.ClassTransient, Code: "fetch_rate", RetryAfter: wait + spread(ctx),
				Text: "the rate of the provider's API (api.rate) is used up",
			}
		}
		if err := activities.Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// spread returns a random pause, longer with each attempt, so that events that wait for their rate don't all ask at once.
func spread(ctx context.Context) time.Duration {
	const doublings = 9
	attempt := 1
	if activity.IsActivity(ctx) {
		attempt = min(int(activity.GetInfo(ctx).Attempt), doublings)
	}
	return rand.N(min(time.Second<<attempt, longestWait)) //nolint:gosec // a pause is no secret
}

// failure classifies why a state can't be fetched. What the provider asks to wait for isn't counted.
func failure(e *recovery.Error) error {
	f := &event.Error{Class: event.ClassFailed, Code: "fetch_" + string(e.Kind), Text: e.Text}
	switch {
	case e.Kind == recovery.KindUnauthorized, e.Kind == recovery.KindRefused:
		f.Class = event.ClassRejected
	case e.Kind == recovery.KindLimited:
		f.Class, f.RetryAfter = event.ClassTransient, cmp.Or(e.RetryAfter, limitedFor)
	case e.Kind == recovery.KindUnavailable && e.RetryAfter > 0:
		f.Class, f.RetryAfter = event.ClassTransient, e.RetryAfter
	}
	return f
}
