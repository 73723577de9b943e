package oversight

import (
	"cmp"
	"slices"
	"time"
)

// Report compares a period with the previous one of equal length, and lists the backlog at its end.
type Report struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Received counts stored events by provider, sorted by count.
	Received []Trend `json:"received"`
	// Repeated counts redeliveries.
	Repeated Trend `json:"repeated"`
	// Failed counts dead letters by provider, class and code, resolved or not, sorted by count.
	Failed []Trend `json:"failed"`
	// Errors counts entries of the error log.
	Errors Trend `json:"errors"`
	// Delivered and GivenUp count deliveries of the period's events.
	Delivered Trend `json:"delivered"`
	GivenUp   Trend `json:"failed_deliveries"`
	// Waiting lists the backlogs by name.
	Waiting []Backlog `json:"waiting"`
	// FailingDestinations names some failing destinations.
	FailingDestinations []string `json:"failing_destinations,omitempty"`
}

// Trend is a count in the period and in the previous one.
type Trend struct {
	// Name is set if there are several.
	Name   string `json:"name,omitempty"`
	Count  int64  `json:"count"`
	Before int64  `json:"before"`
}

// Backlog is the size of a backlog: dead letters, events in the inbox, deliveries. Oldest is nil if it is empty.
type Backlog struct {
	Name   string     `json:"name"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Add adds counts to the trend with the name, and creates it if missing.
func Add(trends []Trend, name string, count, before int64) []Trend {
	i := slices.IndexFunc(trends, func(t Trend) bool { return t.Name == name })
	if i < 0 {
		return append(trends, Trend{Name: name, Count: count, Before: before})
	}
	trends[i].Count += count
	trends[i].Before += before
	return trends
}

// SortTrends sorts by count, descending.
func SortTrends(trends []Trend) {
	slices.SortFunc(trends, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Before, a.Before), cmp.Compare(a.Name, b.Name))
	})
}

// Sum adds up trends.
func Sum(trends []Trend) (sum Trend) {
	for _, t := range trends {
		sum.Count += t.Count
		sum.Before += t.Before
	}
	return sum
}
