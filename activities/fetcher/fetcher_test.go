package fetcher_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities/fetcher"
	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/client"
)

// answers is a transport that answers with a status.
type answers struct {
	status     int
	retryAfter string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Retry-After": {a.retryAfter}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"payments": {"amount": 150}}`)),
	}, nil
}

// wait is what every claim must wait for; 0 grants it.
type wait time.Duration

func (w wait) TakeRates(_ context.Context, claims []event.RateClaim) ([]event.RateGrant, error) {
	if claims[0].Name != "api:gocardless" {
		panic(claims[0].Name)
	}
	if w == 0 {
		return []event.RateGrant{{Granted: 1}}, nil
	}
	return []event.RateGrant{{Wait: time.Duration(w)}}, nil
}

// Each failure has the class that its retries need.
func TestFailuresOfAFetchHaveAClass(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	r := event.Receipt{ID: "e", Provider: "gocardless", KeyFrom: event.KeyFromEvent, Root: []byte(`{}`)}
	body := []byte(`{"id":"EV1","resource_type":"payments","action":"confirmed","links":{"payment":"PM1"}}`)
	for name, c := range map[string]struct {
		answer answers
		wait   wait
		class  event.Class
		code   string
		after  time.Duration
	}{
		"rate":          {answers{}, wait(time.Minute), event.ClassTransient, "fetch_rate", time.Minute},
		"limited":       {answers{429, "90"}, 0, event.ClassTransient, "fetch_rate_limited", 90 * time.Second},
		"limited alone": {answers{429, ""}, 0, event.ClassTransient, "fetch_rate_limited", 30 * time.Second},
		"maintenance":   {answers{503, "90"}, 0, event.ClassTransient, "fetch_unavailable", 90 * time.Second},
		"failed":        {answers{500, ""}, 0, event.ClassFailed, "fetch_unavailable", 0},
		"unauthorized":  {answers{401, ""}, 0, event.ClassRejected, "fetch_unauthorized", 0},
		"refused":       {answers{400, ""}, 0, event.ClassRejected, "fetch_refused", 0},
	} {
		f := &fetcher.Fetcher{
			Lookup: catalogue.Lookup, Rates: c.wait,
			Client: client.New(c.answer, func(string) []string { return []string{"key"} }),
		}
		require.True(t, f.CanFetch(r, body))
		_, err := f.Fetch(t.Context(), r, body)
		var failed *event.Error
		require.ErrorAs(t, err, &failed, name)
		require.Equal(t, []string{string(c.class), c.code}, []string{string(failed.Class), failed.Code}, name)
		if c.code == "fetch_rate" {
			require.GreaterOrEqual(t, failed.RetryAfter, c.after, name)
			continue
		}
		require.Equal(t, c.after, failed.RetryAfter, name)
	}
	before := time.Now()
	f := &fetcher.Fetcher{
		Lookup: catalogue.Lookup, Rates: wait(0), Client: client.New(answers{status: 200}, func(string) []string { return []string{"key"} }),
	}
	state, err := f.Fetch(t.Context(), r, body)
	require.NoError(t, err)
	require.JSONEq(t, `{"amount": 150}`, string(state.State))
	require.False(t, state.At.Before(before))

	r.Fetched = &event.Fetched{At: before, State: []byte(`{"links":{"mandate":"MD1"}}`)}
	f.Client = client.New(answers{status: 404}, func(string) []string { return []string{"key"} })
	require.True(t, f.CanFetch(r, body))
	both, err := f.Fetch(t.Context(), r, body)
	require.NoError(t, err)
	require.Equal(t, "{\"links\":{\"mandate\":\"MD1\"}}\nnull", string(both.State), "the mandate is gone, the payment isn't")
	require.Equal(t, before, both.At)
	r.Fetched = &both
	require.False(t, f.CanFetch(r, body))
}
