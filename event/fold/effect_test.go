package fold_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
)

// timeline is one of changes written as "op state", the first of them the oldest; it has the latest first.
func timeline(changes ...string) (links []event.Link) {
	for i, c := range changes {
		op, state, _ := strings.Cut(c, " ")
		links = append(links, event.Link{
			EntityRef: event.EntityRef{Provider: "acme", Kind: "thing", ExternalID: "1"}, EventID: fmt.Sprint("e", i), Position: 1,
			Op: event.Op(op), State: json.RawMessage(state), OccurredAt: time.Unix(int64(i), 0),
		})
	}
	slices.Reverse(links)
	return links
}

// told formats an effect as a line.
func told(e fold.Effect) string {
	if e.Unknown {
		return "?"
	}
	parts := []string{}
	for _, f := range e.Fields {
		parts = append(parts, fmt.Sprintf("%s %s→%s", f.Path, f.Old, f.New))
	}
	return strings.Join(parts, ", ")
}

func TestEffectsMatchTheirChanges(t *testing.T) {
	t.Parallel()
	changes := []string{
		`snapshot {"n":1.10,"name":"Ada"}`, `patch {"n":1.10,"deep":{"a":1,"b":2}}`, `patch {}`, `patch {"deep":{"a":12345678901234567890}}`,
		`snapshot {"n":1.1,"name":"Ada"}`, `delete {"n":1.1}`,
	}
	effects, err := fold.Effects(event.Entity{}, true, timeline(changes...))
	require.NoError(t, err)
	slices.Reverse(effects)
	for i, want := range []string{
		`/n →1.10, /name →"Ada"`, `/deep →{"a":1,"b":2}`, ``, `/deep/a 1→12345678901234567890`,
		`/deep {"a":12345678901234567890,"b":2}→, /n 1.10→1.1`, `/name "Ada"→, deleted false→true`,
	} {
		require.Equal(t, want, told(effects[i]), changes[i])
	}
}

// What was before is not known: the first reset begins what can be told.
func TestEffectsOfAnUnknownState(t *testing.T) {
	t.Parallel()
	links := timeline(`patch {"a":1}`, `snapshot {"b":1}`, `patch {"b":2}`)
	effects, err := fold.Effects(event.Entity{}, false, links)
	require.NoError(t, err)
	require.Equal(t, []string{"/b 1→2", "?", "?"}, []string{told(effects[0]), told(effects[1]), told(effects[2])})
	require.Empty(t, effects[1].Fields, "what a reset has changed is not known, either")

	origins, err := fold.Origins(json.RawMessage(`{"b":2}`), effects)
	require.NoError(t, err)
	require.Equal(t, "e2", origins[0].By.EventID)
}

// A change that can't be applied is an error, and no effect.
func TestEffectsOfAnInvalidState(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		_, err := fold.Effects(event.Entity{State: json.RawMessage(`{}`)}, known, timeline(`snapshot {"a":1}`, `patch [`))
		require.Error(t, err)
	}
}

// States that are too large are passed, and only the latest of them compared: with the state that those passed lead to.
func TestEffectsOfLargeStates(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	changes := []string{`patch {"first":"kept"}`}
	for i := range 10 {
		changes = append(changes, fmt.Sprintf(`patch {"n":%d,"large":%q}`, i, large))
	}
	effects, err := fold.Effects(event.Entity{State: json.RawMessage(`{"old":true}`)}, true, timeline(changes...))
	require.NoError(t, err)
	require.Equal(t, "/n 8→9", told(effects[0]))
	require.Equal(t, "?", told(effects[9]))
	require.Equal(t, "?", told(effects[10]))

	origins, err := fold.Origins(json.RawMessage(`{"first":"kept","n":9}`), effects)
	require.NoError(t, err)
	require.Nil(t, origins[0].By, "it lies behind what is not compared")
	require.Equal(t, "e10", origins[1].By.EventID)
}

// The origin of a field is the change that made it what it is, and not one that says it again.
func TestOrigins(t *testing.T) {
	t.Parallel()
	links := timeline(`snapshot {"a/b":1,"n":1.10,"same":"x","deep":{"a":1}}`, `patch {"n":2.0}`,
		`snapshot {"a/b":1,"n":2.0,"same":"x","deep":{"a":2}}`, `patch {"gone":1}`, `patch {"gone":null}`)
	effects, err := fold.Effects(event.Entity{}, true, links)
	require.NoError(t, err)
	origins, err := fold.Origins(json.RawMessage(`{"a/b":1,"n":2.0,"same":"x","deep":{"a":2},"older":0}`), effects)
	require.NoError(t, err)
	by := map[string]string{}
	for _, o := range origins {
		if by[o.Field] = "?"; o.By != nil {
			by[o.Field] = o.By.EventID
		}
	}
	require.Equal(t, map[string]string{"a/b": "e0", "n": "e1", "same": "e0", "deep": "e2", "older": "?"}, by)
	require.Equal(t, "2.0", string(origins[2].Value))
}
