package console_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/operator/access"
	"holdfast/operator/api"
	"holdfast/operator/console"
)

// followed is an event that is being processed, and counts how often all of it was read.
type followed struct {
	api.EventStore

	version string
	status  event.Status
	read    int
}

func (f *followed) EventVersion(context.Context, string) (string, error) { return f.version, nil }

func (f *followed) Event(_ context.Context, id string) (event.Record, error) {
	f.read++
	return event.Record{
		Receipt: event.Receipt{ID: id, Provider: "acme", Key: "k", ReceivedAt: time.Now()}, Type: "note", Status: f.status,
		PersistedAt: time.Now(), Body: []byte(`{"secret":"of the body"}`),
	}, nil
}

func (*followed) Decision(context.Context, string) (event.Decision, error) {
	return event.Decision{}, event.ErrNotFound
}

func (*followed) Duplicates(context.Context, string) (event.Duplicates, error) {
	return event.Duplicates{}, nil
}

// The page of an event asks for its followed part until the event ends. Without a change the server only reads the version.
func TestAnEventIsFollowedByItsVersion(t *testing.T) {
	t.Parallel()
	behind := &followed{version: "1", status: "persisted"}
	s := startWith(t, console.Options{API: &api.API{Events: behind}})
	v := s.as(t, access.RoleViewer)
	path := "/console/events/" + replayed
	_, page := v.get(s.url + path)
	asks := regexp.MustCompile(`hx-get="([^"]+)" hx-trigger="every 2s"`)
	next := func(page string) string {
		found := asks.FindStringSubmatch(page)
		require.Len(t, found, 2, page)
		require.True(t, strings.HasPrefix(found[1], path+"/live?seen=1-") || strings.HasPrefix(found[1], path+"/live?seen=2-"), found[1])
		return s.url + found[1]
	}
	first := next(page)
	require.Equal(t, 1, behind.read)
	require.Contains(t, page, `<span id="status" role="status">`, "screen readers say how it ends, and nothing else")
	require.Equal(t, 1, strings.Count(page, `role="status"`))
	for range 3 {
		res, body := v.get(first)
		if res.StatusCode == 200 { // the times on the page have become old
			first = next(body)
			continue
		}
		require.Equal(t, 204, res.StatusCode)
		require.Empty(t, body)
	}
	require.LessOrEqual(t, behind.read, 2)

	behind.version = "2"
	res, part := v.get(first)
	require.Equal(t, 200, res.StatusCode)
	require.True(t, strings.HasPrefix(part, `<div id="event"`), part)
	require.NotContains(t, part, "<html")
	require.Contains(t, part, "<h1>acme note</h1>")
	require.NotContains(t, part, "of the body", "the body doesn't change")
	require.Contains(t, part, `<a href="`+path+`">Reload</a>`)
	last := next(part)

	behind.version, behind.status = "3", event.StatusProcessed
	res, part = v.get(last)
	require.Equal(t, 200, res.StatusCode)
	require.NotContains(t, part, "hx-get")
	require.Contains(t, part, "processed")
}
