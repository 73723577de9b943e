package background

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/event/operation"
)

// rebuildIn is the store of a rebuild of events with these IDs. It records how each was parsed.
type rebuildIn struct {
	RebuildStore

	fetch  bool
	ids    []string
	parsed map[string]error
}

func (s *rebuildIn) Read(_ context.Context, id string) (operation.Rebuild, error) {
	return operation.Rebuild{Base: operation.Base{ID: id, State: operation.Running}, Fetch: s.fetch}, nil
}

func (s *rebuildIn) Unfetched(context.Context, string, int) (all []event.Record, err error) {
	for _, id := range s.ids {
		all = append(all, event.Record{Receipt: event.Receipt{ID: id}})
	}
	return all, nil
}

func (s *rebuildIn) Page(ctx context.Context, id string, _ int, parse event.Parser) (operation.Rebuild, error) {
	s.parsed = map[string]error{}
	for _, one := range s.ids {
		_, s.parsed[one] = parse(event.Receipt{ID: one}, nil)
	}
	return s.Read(ctx, id)
}

// api is a provider's API that fails with these errors first, by event, and notes for which events a state was stored.
type api struct {
	activities.Fetcher

	fails  map[string][]error
	stored []string
}

func (a *api) Fetch(_ context.Context, r event.Receipt, _ []byte) (event.Fetched, error) {
	if fails := a.fails[r.ID]; len(fails) > 0 {
		a.fails[r.ID] = fails[1:]
		return event.Fetched{}, fails[0]
	}
	switch {
	case r.Fetched == nil:
		return event.Fetched{At: time.Now(), State: []byte("1")}, nil
	case r.ID == "two" && string(r.Fetched.State) == "1":
		return r.Fetched.And([]byte("2")), nil
	}
	return event.Fetched{}, &event.Error{Class: event.ClassFailed, Code: "fetch_changed"}
}

func (a *api) ReplaceFetched(_ context.Context, eventID string, f event.Fetched) error {
	a.stored = append(a.stored, strings.Join(append([]string{eventID}, strings.Fields(string(f.State))...), " "))
	return nil
}

// A page of a rebuild fetches its states first, if it was asked to:
//   - it waits as long as the provider asks
//   - an event whose state is refused, or unreadable, can't be parsed; one for which nothing is fetched is parsed as before
//   - the states of several GETs are stored together
//   - an outage ends the page
func TestARebuildFetchesStatesAgain(t *testing.T) {
	t.Parallel()
	refused := &event.Error{Class: event.ClassRejected, Code: "fetch_unauthorized"}
	unreadable := &event.Error{Class: event.ClassFailed, Code: "fetch_unreadable"}
	limited := &event.Error{Class: event.ClassTransient, Code: "fetch_rate", RetryAfter: time.Nanosecond}
	maintenance := &event.Error{Class: event.ClassTransient, Code: "fetch_unavailable", RetryAfter: time.Nanosecond}
	changed := &event.Error{Class: event.ClassFailed, Code: "fetch_changed"}
	run := func(fetch bool, fails map[string][]error, ids ...string) (*rebuildIn, *api, error) {
		store, provider := &rebuildIn{fetch: fetch, ids: ids}, &api{fails: fails}
		all := &Activities{Rebuilds: store, States: provider, Fetcher: provider,
			ParseAgain: func(event.Receipt, []byte) (event.Parsed, error) { return event.Parsed{}, nil }}
		_, err := all.rebuildPage(t.Context(), "one", 20)
		return store, provider, err
	}
	store, provider, err := run(false, nil, "a")
	require.NoError(t, err)
	require.Empty(t, provider.stored)
	require.Equal(t, map[string]error{"a": nil}, store.parsed)

	store, provider, err = run(true, map[string][]error{
		"limited": {limited, maintenance}, "refused": {refused}, "unreadable": {unreadable}, "other": {changed},
	}, "limited", "refused", "unreadable", "other", "two", "last")
	require.NoError(t, err)
	require.Equal(t, []string{"limited 1", "two 1 2", "last 1"}, provider.stored)
	require.Equal(t, map[string]error{
		"limited": nil, "refused": refused, "unreadable": unreadable, "other": nil, "two": nil, "last": nil,
	}, store.parsed)

	for _, outage := range []error{&event.Error{Class: event.ClassFailed, Code: "fetch_unavailable"}, errors.New("no database")} {
		store, provider, err = run(true, map[string][]error{"b": {outage}}, "a", "b", "c")
		require.ErrorIs(t, err, outage)
		require.Equal(t, []string{"a 1"}, provider.stored)
		require.Nil(t, store.parsed, "the page is done again")
	}
}
