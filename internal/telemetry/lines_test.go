package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/telemetry"
)

func TestLinesArePassedOnInOrder(t *testing.T) {
	var out bytes.Buffer
	lines := telemetry.NewLines(&out)
	var want string
	for i := range 1000 {
		_, err := fmt.Fprintf(lines, "line %d\n", i)
		require.NoError(t, err)
		want += fmt.Sprintf("line %d\n", i)
	}
	require.NoError(t, lines.Flush(t.Context()))
	require.Equal(t, want, out.String())
}

// If the log's reader is blocked, writers continue and the loss is counted.
func TestAnUnreadLogBlocksNothing(t *testing.T) {
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = reader.Close() })
	lines := telemetry.NewLines(writer)
	tel := start(t, telemetry.Options{})
	require.NoError(t, tel.ObserveLines(lines))
	for range 10_000 {
		_, err := io.WriteString(lines, "line\n")
		require.NoError(t, err)
	}
	require.Regexp(t, `holdfast_log_lines_dropped_total 5\d\d\d`, scrape(t, tel))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, lines.Flush(ended), context.Canceled)
}
