package word

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{
		"opn":                          `"opn" is unknown: want open, replaying, resolved, exhausted or discarded; did you mean open?`,
		"Exhausted":                    `"Exhausted" is unknown: want open, replaying, resolved, exhausted or discarded; did you mean exhausted?`,
		"replay":                       `"replay" is unknown: want open, replaying, resolved, exhausted or discarded; did you mean replaying?`,
		"re":                           `"re" is unknown: want open, replaying, resolved, exhausted or discarded; did you mean replaying?`,
		"bogus":                        `"bogus" is unknown: want open, replaying, resolved, exhausted or discarded`,
		strings.Repeat("x", 1<<20)[1:]: `"` + strings.Repeat("x", 50) + `…" is unknown: want open, replaying, resolved, exhausted or discarded`,
	} {
		_, err := Choose(text, event.DeadLetterStates())
		require.EqualError(t, err, wanted)
	}
	for _, state := range append(event.DeadLetterStates(), "") {
		got, err := Choose(string(state), event.DeadLetterStates())
		require.NoError(t, err)
		require.Equal(t, state, got)
	}
}

// The names nearest to a text are given even if none is near enough to be meant.
func TestNearestOf(t *testing.T) {
	t.Parallel()
	names := []string{"adyen", "github", "orb", "stripe", "strava"}
	require.Equal(t, []string{"orb", "adyen"}, NearestOf("orders", names, 2))
	require.Equal(t, []string{"stripe", "strava"}, NearestOf("STR", names, 2))
	require.Equal(t, []string{"a"}, NearestOf("b", []string{"a"}, 3))
	require.Equal(t, "adyen", names[0], "the names keep their order")
}
