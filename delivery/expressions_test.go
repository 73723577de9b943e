package delivery

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// An expression that fails is named by its field, without anything of the event; how it fails decides what becomes of the attempt.
func TestExpressionsFailByName(t *testing.T) {
	t.Parallel()
	in := Message{Body: []byte(`{"a": "secret", "n": 12345678901234567890}`)}.Input()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all := NewExpressions()
	for range 2 { // compiled, and found compiled
		value, err := all.First(t.Context(), "body", ".body.a", in)
		require.NoError(t, err)
		require.Equal(t, "secret", value)
	}
	for _, c := range []struct {
		ctx    context.Context
		source JQ
		code   string
		kind   Kind
	}{
		{t.Context(), `.body.a.b`, "jq_failed", Final},
		{t.Context(), `error(.body.a)`, "jq_failed", Final},
		{t.Context(), `last(range(1e9))`, "jq_too_costly", Final},
		{t.Context(), `. | (`, "jq_invalid", Final},
		{ended, `[.body.a | explode[]]`, "jq_deadline", Ours},
	} {
		_, err := all.First(c.ctx, "start.input[0]", c.source, in)
		require.Equal(t, c.code, event.CodeOf(err), c.source)
		require.ErrorContains(t, err, "start.input[0]", c.source)
		require.NotContains(t, err.Error(), "secret", c.source)
		require.Equal(t, c.kind, BuildFailure("body_error", err).Kind, c.source)
	}
}
