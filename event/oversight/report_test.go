package oversight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The report compares each count with the previous period and names at most five items in a line.
func TestAReportIsReadAtAGlance(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 5, 7, 0, 0, 0, time.UTC)
	oldest := until.Add(-50 * time.Hour)
	r := Report{
		Since: until.Add(-24 * time.Hour), Until: until,
		Received: []Trend{{"stripe", 1100, 1000}, {"github", 97, 100}, {"shopify", 50, 5}, {"acme", 1, 0}, {"a", 1, 1}, {"b", 1, 1},
			{"c", 1, 1}, {"silent", 0, 340}, {"never came", 0, 0}},
		Repeated:  Trend{Count: 1, Before: 1},
		Failed:    []Trend{{"stripe rejected malformed_json", 2, 10}, {"acme failed jq_failed", 0, 2}},
		Errors:    Trend{Before: 7},
		Delivered: Trend{Count: 900, Before: 1000}, GivenUp: Trend{},
		Waiting:             []Backlog{{"dead letter", 3, &oldest}, {"inbox event", 0, nil}, {"delivery", 2, nil}},
		FailingDestinations: []string{"crm"},
	}
	require.Equal(t, `Jan 4 07:00 to Jan 5 07:00 UTC, compared with the 24h before
Received: 1251 events (-14 %): stripe 1100 (+10 %), github 97 (-3 %), shopify 50 (10 times as many), acme 1 (0 before), a 1, and 2 others
No longer sending: silent (340 before)
Redelivered: 1 time
Failed: 2 dead letters (-83 %): stripe rejected malformed_json 2; no errors (7 before)
Delivered: 900 times (-10 %); failed deliveries: never
Backlog: 3 dead letters, oldest 50h; 2 deliveries
Failing destinations: crm`, r.Text())
}

// As many names as a line holds are all there, and no others are counted.
func TestAReportOfAsManyNamesAsALineHolds(t *testing.T) {
	t.Parallel()
	var r Report
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.Received = append(r.Received, Trend{name, 1, 1})
	}
	require.Contains(t, r.Text(), "a 1, b 1, c 1, d 1, e 1\n")
}

func TestAReportOfNothing(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 5, 7, 0, 0, 0, time.UTC)
	require.Equal(t, `Dec 29 07:00 to Jan 5 07:00 UTC, compared with the 168h before
Received: no events
Redelivered: never
Failed: no dead letters; no errors
Delivered: never; failed deliveries: never
Backlog: nothing`, Report{Since: until.AddDate(0, 0, -7), Until: until}.Text())
}

func TestTrendsAreAddedByName(t *testing.T) {
	t.Parallel()
	trends := Add(Add(Add(nil, "b", 1, 0), "a", 1, 5), "b", 3, 1)
	SortTrends(trends)
	require.Equal(t, []Trend{{"b", 4, 1}, {"a", 1, 5}}, trends)
	require.Equal(t, Trend{Count: 5, Before: 6}, Sum(trends))
}
