package oversight

import (
	"cmp"
	"slices"
	"time"

	"holdfast/event"
)

// Alert is an unreported failure: of a dead letter, or in the error log.
type Alert struct {
	// DeadLetter is the ID of the dead letter and Failures its number of failures; 0 for an entry of the error log, whose ID is
	// Entry.
	DeadLetter int64
	Failures   int
	Entry      int64

	AlertGroup
}

// AlertGroup summarizes equal alerts.
type AlertGroup struct {
	// Phase is empty for dead letters, which come from any phase.
	Phase       event.Phase `json:"phase,omitempty"`
	Provider    string      `json:"provider,omitempty"`
	Class       event.Class `json:"class"`
	Code        string      `json:"code"`
	Count       int64       `json:"count"`
	First, Last time.Time   `json:"-"`
	// Example is the workflow ID of one of them.
	Example string `json:"example,omitempty"`
}

type alertKey struct {
	phase    event.Phase
	provider string
	class    event.Class
	code     string
}

// GroupAlerts groups equal alerts, the most frequent first.
func GroupAlerts(alerts []Alert) []AlertGroup {
	var groups []AlertGroup
	place := map[alertKey]int{}
	for _, a := range alerts {
		key := alertKey{a.Phase, a.Provider, a.Class, a.Code}
		i, ok := place[key]
		if !ok {
			place[key] = len(groups)
			groups = append(groups, a.AlertGroup)
			continue
		}
		g := &groups[i]
		g.Count += a.Count
		if a.First.Before(g.First) {
			g.First = a.First
		}
		if a.Last.After(g.Last) {
			g.Last = a.Last
		}
	}
	slices.SortStableFunc(groups, func(a, b AlertGroup) int { return cmp.Compare(b.Count, a.Count) })
	return groups
}
