package errorlog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/persistence/postgres"
)

// While the database is unavailable no count is lost, and the memory is bounded: further minutes are counted per hour.
func TestNoRefusedRequestIsForgotten(t *testing.T) {
	t.Parallel()
	written := map[minuteKey]int64{}
	failure := errors.New("no database")
	c := &MinuteCounter{Flusher: postgres.NewFlusher(), pending: map[minuteKey]int64{}}
	c.write = func(_ context.Context, all []countedMinute) error {
		for _, m := range all {
			if failure == nil {
				written[minuteKey{m.provider, m.at.Unix()}] += m.n
			}
		}
		return failure
	}
	noon := time.Date(2026, 11, 26, 12, 0, 30, 0, time.UTC)
	const minutes = maxMinutes + 500
	for n := range minutes {
		c.Count("acme", noon.Add(time.Duration(n)*time.Minute))
		c.Count("acme", noon.Add(time.Duration(n)*time.Minute))
	}
	require.Less(t, len(c.pending), maxMinutes+minutes/60)
	c.flush()
	failure = nil
	c.flush()
	c.flush()
	var sum int64
	for _, n := range written {
		sum += n
	}
	require.EqualValues(t, 2*minutes, sum)
	require.EqualValues(t, 2, written[minuteKey{"acme", noon.Truncate(time.Minute).Unix()}])
	require.Empty(t, c.pending)
}
