package persistence_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// The cost of taking an event from the inbox with thousands behind it, by pages of several sizes.
func BenchmarkDrainInbox(b *testing.B) {
	for _, page := range []int{4, 32} {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) { benchmarkDrain(b, page) })
	}
}

func benchmarkDrain(b *testing.B, page int) {
	db := open(b)
	inbox := db.Inbox.NewInboxWriter()
	body := []byte(`{"id": "evt_1", "data": "` + strings.Repeat("x", 570) + `"}`)
	parallel(32, b.N+3000, func() {
		_, err := inbox.Spool(b.Context(), event.LaneOverflow, receipt(), body, false)
		require.NoError(b, err)
	})
	postgres, ours := cpuOf(b, db.backends()...), cpuOf(b, os.Getpid())
	b.ResetTimer()
	for left := b.N; left > 0; {
		n, err := db.Inbox.DrainInbox(b.Context(), event.LaneOverflow, min(page, left), startAll)
		require.NoError(b, err)
		left -= n
	}
	b.StopTimer()
	perEvent := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) }
	b.ReportMetric(perEvent(cpuOf(b, os.Getpid())-ours), "go-µs/event")
	b.ReportMetric(perEvent(cpuOf(b, db.backends()...)-postgres), "pg-µs/event")
}

func startAll(_ context.Context, rows []event.Waiting) []event.StartOutcome {
	settled := make([]event.StartOutcome, len(rows))
	for i := range settled {
		settled[i].Started = true
	}
	return settled
}
