package operation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

func TestARateIsReadPerSecond(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"50/s": 50, "50": 50, "600/m": 10, "1800/h": 0.5, "0.5/s": 0.5} {
		got, err := operation.ParseRate(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-9, text)
	}
	for _, text := range []string{"", "/s", "0/s", "-1/s", "50/d", "NaN", "fast"} {
		_, err := operation.ParseRate(text)
		require.Error(t, err, text)
	}
}
