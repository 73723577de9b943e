package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/console"
)

// history has counts in each bucket of a chart. It fails for the provider broken and over 30 days of attempts, and has nothing for
// quiet.
type history struct{ api.Statistics }

func (history) EventHistory(_ context.Context, provider string, s oversight.Span) (all []oversight.EventBucket, _ error) {
	if provider == "broken" {
		return nil, errors.New("too slow")
	}
	for at := s.Since; at.Before(s.Until) && provider != "quiet"; at = at.Add(time.Duration(s.Step)) {
		all = append(all, oversight.EventBucket{At: at, Processed: 1_234_567, Ignored: 12, Dead: 3})
	}
	return all, nil
}

func (history) DeliveryHistory(_ context.Context, destination int64, s oversight.Span) (all []oversight.DeliveryBucket, _ error) {
	switch {
	case destination != 3:
		return nil, nil
	case time.Duration(s.Step) == 24*time.Hour:
		return nil, errors.New("too slow")
	}
	return []oversight.DeliveryBucket{{At: s.Since, Succeeded: 7, Failed: 1, Milliseconds: 1000}}, nil
}

func (history) DeliveryTotals(
	_ context.Context, destinations []int64, s oversight.Span,
) (map[int64]oversight.DeliveryBucket, error) {
	if time.Duration(s.Step) != 30*time.Minute {
		return nil, errors.New("the list is about 24 hours")
	}
	return map[int64]oversight.DeliveryBucket{3: {Succeeded: 7, Failed: 1}}, nil
}

func (history) Attention(context.Context) (a oversight.Attention, _ error) { return a, nil }

func (stored) RecentTypes(context.Context) (providers, types []string, _ error) { return nil, nil, nil }

var (
	barOf = regexp.MustCompile(`<a href="([^"]+)" tabindex="-1"><title>([^<]+)</title>`)
	rowOf = regexp.MustCompile(`<th scope="row" class="first"><a href="([^"]+)">`)
)

// The chart above a list of events has the filter's provider and time range, up to 49 bars, and each of them leads to the list of
// its time.
func TestAListOfEventsHasAChart(t *testing.T) {
	t.Parallel()
	s := startShowing(t, console.Options{API: &api.API{Events: stored{}, Stats: history{}}}, "/tools", true)
	v := s.as(t, access.RoleViewer)
	chart := func(query string) (page string, bars [][]string) {
		res, page := v.get(s.url + "/tools/console/events" + query)
		require.Equal(t, 200, res.StatusCode, query)
		return page, barOf.FindAllStringSubmatch(page, -1)
	}
	page, bars := chart("?provider=acme&since=2h&until=1h&limit=10&type=")
	require.Len(t, rowOf.FindAllString(page, -1), len(bars), "the table leads to the same lists")
	require.InDelta(t, 12, len(bars), 1)
	first := regexp.MustCompile(`^/tools/console/events\?since=(\S+)&amp;until=(\S+)&amp;provider=acme$`).FindStringSubmatch(bars[0][1])
	require.NotEmpty(t, first, bars[0][1])
	from, err := time.Parse("2006-01-02T15:04Z07:00", first[1])
	require.NoError(t, err)
	require.Equal(t, from.Add(5*time.Minute).Format("2006-01-02T15:04Z07:00"), first[2])
	require.Equal(t, from.Format("2 Jan 15:04–")+from.Add(5*time.Minute).Format("15:04")+
		" UTC: 1\u202f234\u202f567 processed, 12 ignored, 3 dead", bars[0][2])
	require.NotRegexp(t, `aria-current="true">\d`, page)
	_, bars = chart(strings.ReplaceAll(bars[0][1][len("/tools/console/events"):], "&amp;", "&"))
	require.Len(t, bars, 1)

	page, bars = chart("")
	require.InDelta(t, 49, len(bars), 1)
	require.Contains(t, page, ` data-list="/tools/console/events" `)
	require.Contains(t, page, `<a href="/tools/console/events?since=24h" aria-current="true">24 hours</a>`)
	page, _ = chart("?provider=a%26b&since=7d")
	require.Contains(t, page, `<a href="/tools/console/events?since=7d&amp;provider=a%26b" aria-current="true">7 days</a>`)
	page, bars = chart("?provider=quiet")
	require.Empty(t, bars)
	require.Contains(t, page, "No events were counted in this time.")
	require.NotContains(t, page, "parsed")
	page, _ = chart("?provider=acme&since=2h")
	link := regexp.MustCompile(`be parsed count as dead, .* <a href="/tools(/console/dead-letters/list)\?provider=acme&amp;since=([^"]+)">`).
		FindStringSubmatch(page)
	require.Len(t, link, 3, "what the bars count and the list lacks")
	for _, without := range []string{"?type=note", "?provider=acme&key=1", "?since=60d&until=50d"} {
		page, _ := chart(without)
		require.NotContains(t, page, `class="chart"`, without)
	}
}

// A list with as much as a page can have, and a chart, is below the limit of a page.
func TestAPageWithAChartIsSmall(t *testing.T) {
	t.Parallel()
	rows := make([]event.Record, 50)
	for i := range rows {
		rows[i] = event.Record{
			Receipt: event.Receipt{
				ID: fmt.Sprintf("019ad000-0000-7000-8000-%012d", i), Provider: "standard-webhooks", Key: strings.Repeat("k", 48),
				ReceivedAt: time.Now(), Source: "acct_1032D82eZvKYlo2C",
			},
			Type: "customer.subscription.updated", Status: event.StatusProcessed, Outcome: event.OutcomeIgnored,
		}
	}
	s := startWith(t, console.Options{API: &api.API{Events: stored{rows: rows}, Stats: history{}}, Definitions: definitions(t)})
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/events?provider=standard-webhooks")
	require.Contains(t, page, "019a")
	require.Contains(t, page, `class="chart"`)
	require.Less(t, len(page), 100_000)
	t.Log(len(page))
}

// The page of a provider has the chart of its events.
func TestAProviderHasAChart(t *testing.T) {
	t.Parallel()
	s := startWith(t, console.Options{API: &api.API{Events: stored{}, Stats: history{}}, Definitions: definitions(t)})
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/providers/stripe")
	require.InDelta(t, 49, len(barOf.FindAllString(page, -1)), 1)
	require.Contains(t, page, `&amp;provider=stripe" tabindex="-1">`)
	require.Regexp(t,
		` data-list="/console/events\?provider=stripe" data-since="\d+00000" data-step="1800000" data-steps="49"`, page)
	require.Contains(t, page, `<a href="/console/providers/stripe?window=24h" aria-current="true">24 hours</a>`)
	_, page = v.get(s.url + "/console/providers/stripe?window=1h")
	require.InDelta(t, 13, len(barOf.FindAllString(page, -1)), 1)
	res, _ := v.get(s.url + "/console/providers/stripe?window=100d")
	require.Equal(t, 400, res.StatusCode)
}

// The page of a destination has charts of its attempts: their results, and how long they took on average.
func TestADestinationHasCharts(t *testing.T) {
	t.Parallel()
	behind := withCRM()
	behind.all["idle"] = delivery.Destination{ID: 4, Version: 1, Name: "idle", HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
	shown := behind.shown()
	shown.API.Stats = history{}
	s := startShowing(t, shown, "", true)
	v := s.as(t, access.RoleViewer)
	_, page := v.get(s.url + "/console/destinations/crm?window=7d")
	require.Equal(t, 2, strings.Count(page, `<div class="chart">`))
	require.Contains(t, page, "UTC: 7 succeeded, 1 failed</title>")
	require.Contains(t, page, "UTC: 125 ms, mean duration</title>")
	require.Contains(t, page, `<a href="/console/destinations/crm?window=7d" aria-current="true">7 days</a>`)
	require.Equal(t, 1, strings.Count(page, "<summary>As a table"), "one table has both")
	require.Contains(t, page, `data-label="ms, mean duration">125</td>`)
	require.Empty(t, barOf.FindAllString(page, -1), "attempts have no list of a time")
	require.NotContains(t, page, "data-list")
	require.Contains(t, page, "<dt>Successful attempts</dt><dd>87.5 % of 8 since <time")
	_, page = v.get(s.url + "/console/destinations")
	require.Regexp(t, `data-label="Successful attempts">87.5 %</td>[^~]*data-label="Successful attempts">–</td>`, page,
		"the figure of 24 hours, which is that of the chart, and none for the idle one")
	_, page = v.get(s.url + "/console/destinations/idle")
	require.Contains(t, page, "<dt>Successful attempts</dt><dd>no attempt since <time")
	require.Contains(t, page, "No attempts were counted in this time.")
	require.Equal(t, 1, strings.Count(page, `<div class="chart">`))
	res, _ := v.get(s.url + "/console/destinations/crm?window=1s")
	require.Equal(t, 400, res.StatusCode)
}

// A chart that can't be read says so, and the cause is logged once until the chart can be read again.
func TestAChartThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var log logged
	events := console.Options{API: &api.API{Events: stored{}, Stats: history{}}, Log: slog.New(slog.NewJSONHandler(&log, nil))}
	attempts := withCRM().shown()
	attempts.API.Stats, attempts.Log = events.API.Stats, events.Log
	sites := map[string]site{"events": startShowing(t, events, "", true), "destinations": startShowing(t, attempts, "", true)}
	for _, step := range []struct {
		path string
		says bool
		logs int
	}{
		{"/console/events?provider=broken", true, 1},
		{"/console/events?provider=broken", true, 1},
		{"/console/events?provider=quiet", false, 1},
		{"/console/events?provider=broken", true, 2},
		{"/console/destinations/crm?window=30d", true, 3},
	} {
		s := sites[regexp.MustCompile(`events|destinations`).FindString(step.path)]
		res, page := s.as(t, access.RoleViewer).get(s.url + step.path)
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, step.says, strings.Contains(page, "chart can&#39;t be shown now"), step.path)
		require.Equal(t, step.logs, strings.Count(log.String(), `"operator.chart_failed"`), log.String())
	}
	require.Contains(t, log.String(), "too slow")
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A source is one of a provider, so removing the filter by provider removes it, too: without one, the list would refuse it.
func TestASourceGoesWithItsProvider(t *testing.T) {
	t.Parallel()
	s := startWith(t, console.Options{API: &api.API{Events: stored{}}})
	v := s.as(t, access.RoleOperator)
	res, page := v.get(s.url + "/console/events?provider=acme&source=eu")
	require.Equal(t, 200, res.StatusCode, page)
	link := regexp.MustCompile(`href="([^"]+)" aria-label="Remove the filter provider`).FindStringSubmatch(page)
	require.Len(t, link, 2, page)
	res, _ = v.get(s.url + html.UnescapeString(link[1]))
	require.Equal(t, 200, res.StatusCode, link[1])
}
