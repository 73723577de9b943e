package read_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence/persistencetest"
)

func TestEventsAreFound(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	var all []event.Receipt
	for i, provider := range []string{"acme", "bolt", "acme"} {
		r, p := receipt(), parsed(snapshot([]string{"x", "y", "y"}[i], `{}`))
		r.Provider, p.Type = provider, []string{"a", "b", "b"}[i]
		switch i {
		case 1:
			r.Key = all[0].Key
		case 2:
			r.Key = event.CanonicalKey(r.Provider, all[0].Key+"\x00") // it is stored under its hash
		}
		db.Process(r, p)
		all = append(all, r)
	}
	list := func(q event.RecordQuery) (found []int) {
		page, err := db.Read.Events(t.Context(), q)
		require.NoError(t, err)
		for _, record := range page {
			found = append(found, slices.IndexFunc(all, func(r event.Receipt) bool { return r.ID == record.Receipt.ID }))
		}
		return found
	}
	key, y := all[0].Key, thing("y")
	require.Equal(t, []int{2, 1, 0}, list(event.RecordQuery{}))
	require.Equal(t, []int{2, 1}, list(event.RecordQuery{Type: "b"}), "a type of all providers")
	require.Equal(t, []int{2}, list(event.RecordQuery{Type: "b", Limit: 1}))
	require.Equal(t, []int{1}, list(event.RecordQuery{Type: "b", Before: all[2].ID}))
	require.Equal(t, []int{2}, list(event.RecordQuery{Type: "b", Provider: "acme"}))
	require.Equal(t, []int{1, 0}, list(event.RecordQuery{Key: key}), "a key of all providers")
	require.Equal(t, []int{0}, list(event.RecordQuery{Key: key, Provider: "acme"}))
	require.Equal(t, []int{2}, list(event.RecordQuery{Key: key + "\x00", Provider: "acme"}), "a key as it was given")
	require.Equal(t, []int{2}, list(event.RecordQuery{Entity: &y}))
	require.Empty(t, list(event.RecordQuery{Entity: &y, Type: "a"}))
	require.Empty(t, list(event.RecordQuery{Until: time.Now().Add(-time.Hour)}))
	require.Equal(t, []int{2, 1, 0}, list(event.RecordQuery{Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}))
	require.Empty(t, list(event.RecordQuery{Since: time.Now().Add(time.Hour), Type: "b"}))
}

// Pages read while events arrive have each event that was there at the start exactly once.
func TestPagesAreCompleteWhileEventsComeIn(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	var want []string
	for range 30 {
		r := receipt()
		db.Process(r, parsed())
		want = append(want, r.ID)
	}
	var got []string
	for before := ""; ; {
		page, err := db.Read.Events(t.Context(), event.RecordQuery{Provider: "acme", Before: before, Limit: 7})
		require.NoError(t, err)
		for _, record := range page {
			got = append(got, record.Receipt.ID)
		}
		if len(page) < 7 {
			break
		}
		before = got[len(got)-1]
		db.Process(receipt(), parsed())
	}
	slices.Reverse(got)
	require.Equal(t, want, got)
}

func TestAnEntityAsOfAMoment(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for hour, c := range []event.Change{
		snapshot("1", `{"a":1}`), patch("1", `{"b":2}`), snapshot("1", `{"c":3}`),
		{Kind: "thing", ExternalID: "1", Op: event.OpDelete}, patch("1", `{"d":4}`),
	} {
		p := parsed(c)
		p.OccurredAt = noon.Add(time.Duration(hour) * time.Hour)
		db.Process(receipt(), p)
	}
	late := parsed(patch("1", `{"late":5}`)) // it arrives last and occurred in between
	late.OccurredAt = noon.Add(90 * time.Minute)
	db.Process(receipt(), late)

	for minutes, want := range map[int]string{
		0: `{"a":1}`, 59: `{"a":1}`, 60: `{"a":1,"b":2}`, 90: `{"a":1,"b":2,"late":5}`, 120: `{"c":3}`, 180: `{}`, 300: `{"d":4}`,
	} {
		e, err := db.Entities.EntityAsOf(t.Context(), thing("1"), noon.Add(time.Duration(minutes)*time.Minute))
		require.NoError(t, err)
		require.JSONEq(t, want, string(e.State), "after %d minutes", minutes)
		require.Equal(t, minutes >= 180, e.Deleted)
	}
	_, err := db.Entities.EntityAsOf(t.Context(), thing("1"), noon.Add(-time.Second))
	require.ErrorIs(t, err, event.ErrNotFound)
	now, err := db.Read.Entity(t.Context(), thing("1"))
	require.NoError(t, err)
	then, err := db.Entities.EntityAsOf(t.Context(), thing("1"), time.Now())
	require.NoError(t, err)
	require.JSONEq(t, string(now.State), string(then.State), "as of now it is what it is")
	require.Equal(t, now.Last, then.Last)
}

func TestATimelineHasPages(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	for i := range 5 {
		p := parsed(patch("1", `{"a":1}`), patch("1", `{"b":2}`))
		p.OccurredAt = noon.Add(time.Duration(i/2) * time.Hour)
		if i == 3 {
			p.Changes[0].Version = new(int64(7))
		}
		db.Process(receipt(), p)
	}
	want, err := db.Read.Timeline(t.Context(), thing("1"))
	require.NoError(t, err)
	require.Len(t, want, 10)
	slices.Reverse(want)
	var got []event.Link
	for q := (event.TimelineQuery{Entity: thing("1"), Limit: 3}); ; {
		page, err := db.Read.TimelinePage(t.Context(), q)
		require.NoError(t, err)
		got = append(got, page...)
		if len(page) < 3 {
			break
		}
		q.Before = new(page[2].Cursor())
	}
	require.Equal(t, want, got)
}
