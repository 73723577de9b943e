package minutes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While the database is unavailable no count is lost, and the memory is bounded: further minutes are counted per hour.
func TestNoCountIsForgotten(t *testing.T) {
	t.Parallel()
	written := map[minute]counts{}
	failure := errors.New("no database")
	c := &counter{pending: map[minute]counts{}, write: func(_ context.Context, _ []minute, all map[minute]counts) error {
		for of, n := range all {
			if failure == nil {
				written[of] = counts{written[of][0] + n[0], written[of][1] + n[1]}
			}
		}
		return failure
	}}
	noon := time.Date(2026, 11, 26, 12, 0, 30, 0, time.UTC)
	const minutes = maxMinutes + 500
	for n := range minutes {
		c.add("acme", noon.Add(time.Duration(n)*time.Minute), counts{1, 0})
		c.add("acme", noon.Add(time.Duration(n)*time.Minute), counts{1, 1})
	}
	require.Less(t, len(c.pending), maxMinutes+minutes/60)
	c.flush()
	failure = nil
	c.flush()
	c.flush()
	var sum counts
	for _, n := range written {
		sum = counts{sum[0] + n[0], sum[1] + n[1]}
	}
	require.Equal(t, counts{2 * minutes, minutes}, sum)
	require.Equal(t, counts{2, 1}, written[minute{"acme", noon.Truncate(time.Minute).Unix()}])
	require.Empty(t, c.pending)
}
