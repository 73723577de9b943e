package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTableHasMediansAndTheirRange(t *testing.T) {
	t.Parallel()
	r := &Result{At: noon, Rounds: 3, Versions: []string{"https://example.com/one 12345678"}}
	r.of(side{name: "One", ack: "nothing"}).samples = []sample{{DonePerSecond: 1234}, {DonePerSecond: 1500}, {DonePerSecond: 99.94}}
	r.of(side{name: "One"}).crash = &outcome{Acknowledged: 5, Delivered: 4, Lost: 1, Doubled: 2}
	r.of(side{name: "Two"})
	table := r.Markdown()
	require.Contains(t, table, "| | One | Two |\n|---|---:|---:|\n")
	require.Contains(t, table, "| closed loop to an endpoint: delivered | 1,234/s (99.9 – 1,500) | – |\n")
	require.Contains(t, table, "| behind an ACK | nothing |  |\n")
	require.Contains(t, table, "| One | 5 | 4 | 1 | 2 |\n")
	require.NotContains(t, table, "| Two | ")
	require.Contains(t, table, "- https://example.com/one 12345678\n")
	require.Len(t, r.Columns, 2)
}

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 5: "5", 26.53: "26.5", 100: "100", 9302.4: "9,302", 1234567: "1,234,567"} {
		require.Equal(t, want, short(v))
	}
}
