package frame

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A chip changes one filter and keeps the others: a state replaces the other, and what is invalid without a filter goes with it.
func TestChipsChangeOneFilter(t *testing.T) {
	t.Parallel()
	query := url.Values{
		"provider": {"acme"}, "key": {"a b"}, "status": {"dead"}, "since": {""}, "cursor": {"c"}, "limit": {"20"}, "only": {"open"},
	}
	states := States{Parameter: "status", Names: []string{"dead", "processed", "accepted", "persisted", "lost"}, Unless: []string{"only"},
		Counts: event.Counts{"dead": {N: 12_345}, "processed": {N: 1_198, AtLeast: true}, "persisted": {N: 7, AtLeast: true}, "lost": {AtLeast: true}}}
	chips := NewFilters("/list", query, states, map[string][]string{"provider": {"key"}})
	require.Equal(t, []Chip{
		{Name: "all", Path: "/list?key=a+b&limit=20&provider=acme"},
		{Name: "dead", Path: "/list?key=a+b&limit=20&provider=acme&status=dead", Count: "12\u202f345", Current: true},
		{Name: "processed", Path: "/list?key=a+b&limit=20&provider=acme&status=processed", Count: "1\u202f000+"},
		{Name: "accepted", Path: "/list?key=a+b&limit=20&provider=acme&status=accepted"},
		{Name: "persisted", Path: "/list?key=a+b&limit=20&provider=acme&status=persisted", Count: "7+"},
		{Name: "lost", Path: "/list?key=a+b&limit=20&provider=acme&status=lost"},
	}, chips.States)
	require.Equal(t, []Chip{
		{Name: "key", Value: "a b", Path: "/list?limit=20&only=open&provider=acme&status=dead"},
		{Name: "only", Value: "open", Path: "/list?key=a+b&limit=20&provider=acme&status=dead"},
		{Name: "provider", Value: "acme", Path: "/list?limit=20&only=open&status=dead"},
	}, chips.Set)
	require.Equal(t, "/list", NewFilters("/list", url.Values{"status": {"dead"}}, states, nil).States[0].Path)
}
