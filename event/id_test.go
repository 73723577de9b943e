package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast/event"
)

// Whatever a provider takes for a key:
//   - the workflow ID fits Temporal's tables and alphabet, and leads back to the key
//   - different keys stay different, those that look like a hash included
func TestKeysFitWorkflowIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9._:-]{1,300}`), rapid.StringMatching(`h:[A-Z2-7]{52}`))
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		canonical := event.CanonicalKey("stripe", a)
		id := event.WorkflowID("stripe", canonical)
		require.LessOrEqual(t, len(id), 200)
		require.Regexp(t, `^[A-Za-z0-9._:-]+$`, id)
		provider, key, ok := event.SplitWorkflowID(id)
		require.True(t, ok)
		require.Equal(t, []string{"stripe", canonical}, []string{provider, key})
		if a != b {
			require.NotEqual(t, canonical, event.CanonicalKey("stripe", b))
		}
	})
	hashed := event.CanonicalKey("stripe", "a b")
	require.NotEqual(t, hashed, event.CanonicalKey("stripe", hashed))
	require.Equal(t, strings.Repeat("k", 193), event.CanonicalKey("stripe", strings.Repeat("k", 193)))
	require.NotEqual(t, strings.Repeat("k", 194), event.CanonicalKey("stripe", strings.Repeat("k", 194)))
}

// Two events have one workflow ID only if they have one provider and one key, whatever the names of their providers.
func TestWorkflowIDsAreInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.StringMatching(`[a-z][a-z0-9-]{0,63}`)
		keys := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a:h-]{0,6}`), rapid.StringMatching(`[A-Za-z0-9._:-]{130,210}`))
		id := func(provider, key string) string {
			return event.WorkflowID(provider, event.CanonicalKey(provider, key))
		}
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		for range 20 {
			x, y := keys.Draw(t, "x"), keys.Draw(t, "y")
			require.Equal(t, id(a, x), id(a, strings.Clone(x)), "it is the same every time")
			require.Equal(t, a == b && x == y, id(a, x) == id(b, y), "%q of %s, %q of %s", x, a, y, b)
			require.LessOrEqual(t, len(id(a, x)), 200)
			require.Regexp(t, `^[A-Za-z0-9._:-]+$`, id(a, x))
		}
	})
}

// Only a provider and a key are the workflow ID of an event.
func TestAWorkflowIDIsSplitAtItsFirstColon(t *testing.T) {
	t.Parallel()
	provider, key, ok := event.SplitWorkflowID("stripe:evt:1")
	require.Equal(t, []any{"stripe", "evt:1", true}, []any{provider, key, ok})
	for _, id := range []string{"", ":", "stripe", "stripe:", ":evt_1", event.BatchWorkflowID("1")} {
		_, _, ok := event.SplitWorkflowID(id)
		require.False(t, ok, id)
	}
}

func TestAnIDSaysWhenItWasMade(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1795330000123)
	id := event.FirstIDAt(at)
	made, ok := event.TimeOfID(id[:14] + "7" + id[15:])
	require.True(t, ok)
	require.True(t, made.Equal(at))
	require.Equal(t, made.UTC(), event.AcceptedAt(id[:14]+"7"+id[15:]))
	require.Equal(t, made.UTC(), event.AcceptedAt(id), "a bound")
	for _, none := range []string{"", "req_1", id[:14], id[:14] + "4" + id[15:]} {
		require.Zero(t, event.AcceptedAt(none), none)
	}
	for _, none := range []string{"", id, "req_1", "zzzzzzzz-zzzz-7000-8000-000000000000"} {
		_, ok := event.TimeOfID(none)
		require.False(t, ok, none)
	}
}
