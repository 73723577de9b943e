package client_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/internal/devstack/fakeapi"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// Every built-in list is read page by page: each event of the window once, with the key of the webhook, and no other one. Three
// events share each second.
func TestEveryListIsRead(t *testing.T) {
	t.Parallel()
	for name, style := range fakeapi.Styles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := fakeapi.New(style)
			fake.PageCap = 7
			for i := range 600 {
				fake.Add(fakeapi.Event{ID: fmt.Sprintf("e%d", i), Type: typeOf(name), Time: start.Add(time.Duration(i/3) * time.Second)})
			}
			p := providerOf(t, name)
			w := walker{provider: p, client: client.New(serve(t, fake), secrets)}
			all, err := w.walk(t.Context(), start.Add(50*time.Second), start.Add(90*time.Second))
			require.NoError(t, err)
			want := map[string]int{}
			for i := 150; i < 270; i++ {
				want[fmt.Sprintf("e%d", i)] = 1
			}
			require.Equal(t, want, keysOf(all))
			for _, one := range all {
				require.WithinRange(t, one.time, start.Add(50*time.Second), start.Add(89*time.Second))
			}
			isSorted := slices.IsSortedFunc(all, func(a, b found) int {
				if p.Recovery().Order == recovery.NewestFirst {
					return b.time.Compare(a.time)
				}
				return a.time.Compare(b.time)
			})
			require.True(t, isSorted, "the definition's order is that of the list")
		})
	}
}

// All definitions with a list have a fake, so that none goes unread.
func TestEveryDefinitionHasAFake(t *testing.T) {
	t.Parallel()
	var withList []string
	for _, name := range catalogue().Names() {
		if p, _ := catalogue().Lookup(name); p.Recovery() != nil {
			withList = append(withList, name)
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(fakeapi.Styles())), withList)
}

// A list without a filter ends behind the window, and an event that appears late in it doesn't end the walk.
func TestAnUnfilteredListEndsBehindTheWindow(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["paddle"])
	fake.PageCap = 1
	for i := range 1000 {
		at := start.Add(time.Duration(i) * time.Second)
		if i%50 == 0 {
			at = start.Add(-time.Hour) // created now, with an old time
		}
		fake.Add(fakeapi.Event{ID: fmt.Sprintf("e%d", i), Type: "a.created", Time: at})
	}
	w := walker{provider: providerOf(t, "paddle"), client: client.New(serve(t, fake), secrets)}
	all, err := w.walk(t.Context(), start.Add(701*time.Second), start.Add(2000*time.Second))
	require.NoError(t, err)
	require.Len(t, keysOf(all), 294, "299 events less 5 with an old time")
	require.Equal(t, 399, fake.Requests(), "299 pages of the window, and 100 behind it")
}

// Whatever the order and size of pages, events that appear during the walk and failures: a walk has every event of the window that
// was listed when it began, and none outside it, or it ends with an error.
func TestAWalkIsCompleteOrFails(t *testing.T) {
	t.Parallel()
	styles := fakeapi.Styles()
	names := slices.Sorted(maps.Keys(styles))
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "style")
		fake := fakeapi.New(styles[name])
		fake.PageCap = rapid.IntRange(1, 60).Draw(rt, "page")
		seconds := rapid.SliceOfN(rapid.IntRange(0, 120), 0, 250).Draw(rt, "seconds")
		add := func(prefix string, i, second int) {
			fake.Add(fakeapi.Event{
				ID: fmt.Sprintf("%s%d", prefix, i), Type: typeOf(name), Time: start.Add(time.Duration(second) * time.Second),
			})
		}
		for i, second := range seconds {
			add("e", i, second)
		}
		from := rapid.IntRange(0, 119).Draw(rt, "from")
		to := rapid.IntRange(from+1, 120).Draw(rt, "to")
		faults := rapid.SliceOfN(rapid.SampledFrom([]fakeapi.Fault{
			{}, {}, {}, {Status: 500}, {Status: 503}, {Status: 429, RetryAfter: "1"}, {IsTruncated: true}, {IsDropped: true}, {Status: 403},
		}), 0, 12).Draw(rt, "faults")
		fake.Fault = func(n int) fakeapi.Fault {
			if n > len(faults) {
				return fakeapi.Fault{}
			}
			return faults[n-1]
		}
		late := rapid.SliceOfN(rapid.IntRange(0, 240), 0, 5).Draw(rt, "late")
		w := walker{provider: providerOf(t, name), client: client.New(serve(t, fake), secrets), retries: 3}
		w.between = func(page int) {
			if page <= len(late) {
				add("late", page, late[page-1])
			}
		}
		all, err := w.walk(t.Context(), start.Add(time.Duration(from)*time.Second), start.Add(time.Duration(to)*time.Second))
		if err != nil {
			var failed *recovery.Error
			require.ErrorAs(rt, err, &failed)
			require.True(rt, len(faults) > 0 || failed.Kind == recovery.KindRepeated && len(late) > 0, "%v", err)
			return
		}
		keys := keysOf(all)
		for i, second := range seconds {
			isIn := second >= from && second < to
			require.Equal(rt, isIn, keys[fmt.Sprintf("e%d", i)] > 0, "event %d, at %d", i, second)
		}
		for key, times := range keys {
			require.True(rt, times == 1 || len(late) > 0, "%s is there %d times", key, times)
		}
	})
}

// The error of a canceled context isn't one of the list.
func TestAWalkStopsWithItsContext(t *testing.T) {
	t.Parallel()
	fake := fakeapi.New(fakeapi.Styles()["stripe"])
	fake.Fault = func(int) fakeapi.Fault { return fakeapi.Fault{Delay: time.Minute} }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := walker{provider: providerOf(t, "stripe"), client: client.New(serve(t, fake), secrets)}
	_, err := w.walk(ctx, start, start.Add(time.Hour))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var failed *recovery.Error
	require.NotErrorAs(t, err, &failed)
}
