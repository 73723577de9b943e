package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A token in the body is hidden like one in a header, without being declared in the definition.
func TestATokenInTheBodyIsHidden(t *testing.T) {
	t.Parallel()
	p := memoryProvider(t)
	require.True(t, p.Redacts())
	for body, want := range map[string]string{
		`{"token":"` + secretOfTests + `","event":"e"}`: `{"token":"[redacted]","event":"e"}`,
		`{"token":["` + secretOfTests + `"]}`:           `{"token":"[redacted]"}`,
		`{"event":"e"}`:                                 `{"event":"e"}`,
	} {
		got, err := p.Redact(event.Receipt{}, []byte(body))
		require.NoError(t, err, body)
		require.JSONEq(t, want, string(got), body)
	}
}
