package minutes

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While the database is unavailable no count is lost, and the memory is bounded: further minutes are counted per hour.
func TestNoCountIsForgotten(t *testing.T) {
	t.Parallel()
	written := map[bucket]counts{}
	failure := errors.New("no database")
	c := &counter{width: time.Minute, pending: map[bucket]counts{}, write: func(_ context.Context, _ []bucket, all map[bucket]counts) error {
		for of, n := range all {
			if failure == nil {
				written[of] = written[of].plus(n)
			}
		}
		return failure
	}}
	noon := time.Date(2026, 11, 26, 12, 0, 30, 0, time.UTC)
	const minutes = maxBuckets + 500
	for n := range minutes {
		c.add("acme", noon.Add(time.Duration(n)*time.Minute), counts{1})
		c.add("acme", noon.Add(time.Duration(n)*time.Minute), counts{1, 1})
	}
	require.Less(t, len(c.pending), maxBuckets+minutes/60)
	c.flush()
	failure = nil
	c.flush()
	c.flush()
	var sum counts
	for _, n := range written {
		sum = sum.plus(n)
	}
	require.Equal(t, counts{2 * minutes, minutes}, sum)
	require.Equal(t, counts{2, 1}, written[bucket{"acme", noon.Truncate(time.Minute).Unix()}])
	require.Empty(t, c.pending)
}

// A bucket may be wider than a minute, and all of its counts are added up.
func TestBucketsAreAsWideAsTheirTable(t *testing.T) {
	t.Parallel()
	written := map[bucket]counts{}
	c := &counter{width: 5 * time.Minute, pending: map[bucket]counts{}}
	c.write = func(_ context.Context, of []bucket, all map[bucket]counts) error {
		require.IsIncreasing(t, []int64{of[0].at, of[1].at})
		maps.Copy(written, all)
		return nil
	}
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for n := range 10 {
		c.add("acme", noon.Add(time.Duration(n)*time.Minute), counts{1, 0, 10})
	}
	c.flush()
	require.Equal(t, map[bucket]counts{
		{"acme", noon.Unix()}: {5, 0, 50}, {"acme", noon.Add(5 * time.Minute).Unix()}: {5, 0, 50},
	}, written)
}
