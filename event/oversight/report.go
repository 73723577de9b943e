package oversight

import (
	"cmp"
	"slices"
	"time"
)

// Report is what a time has brought, beside the time before it that is as long, and what waits at its end.
type Report struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Received counts stored events by provider, those that sent the most first.
	Received []Trend `json:"received"`
	// Repeated counts what came again of events of these times.
	Repeated Trend `json:"repeated"`
	// Failed counts dead letters by provider, class and code, the most frequent first; resolved since or not.
	Failed []Trend `json:"failed"`
	// Errors counts those of the error log, overcome or not.
	Errors Trend `json:"errors"`
	// Delivered and GivenUp count deliveries of events of these times.
	Delivered Trend `json:"delivered"`
	GivenUp   Trend `json:"given_up"`
	// Waiting is what waits for somebody, by what it is.
	Waiting []Backlog `json:"waiting"`
	// InTrouble are the names of some receivers in trouble.
	InTrouble []string `json:"in_trouble,omitempty"`
}

// Trend is a number of a time, and of the time before.
type Trend struct {
	// Name says what is counted, where there are several.
	Name   string `json:"name,omitempty"`
	Count  int64  `json:"count"`
	Before int64  `json:"before"`
}

// Backlog is a number of what waits: dead letters, events in the inbox, deliveries. Oldest is since when;
// nil where nothing waits.
type Backlog struct {
	Name   string     `json:"name"`
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Add adds a number to the trend of a name, which it may be the first of.
func Add(trends []Trend, name string, count, before int64) []Trend {
	i := slices.IndexFunc(trends, func(t Trend) bool { return t.Name == name })
	if i < 0 {
		return append(trends, Trend{Name: name, Count: count, Before: before})
	}
	trends[i].Count += count
	trends[i].Before += before
	return trends
}

// SortTrends puts the largest numbers first.
func SortTrends(trends []Trend) {
	slices.SortFunc(trends, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Before, a.Before), cmp.Compare(a.Name, b.Name))
	})
}

// Sum is the trend of all of them together.
func Sum(trends []Trend) (sum Trend) {
	for _, t := range trends {
		sum.Count += t.Count
		sum.Before += t.Before
	}
	return sum
}
