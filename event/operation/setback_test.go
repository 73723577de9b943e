package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

// Whichever store has the lower counter was set back, to the time of its mark. A changed identity alone only causes a comparison.
func TestMarksTellWhichStoreWasSetBack(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 11, 26, 22, minute, 0, 0, time.UTC) }
	mark := func(counter int64, minute int, identity string) operation.Mark {
		return operation.Mark{Counter: counter, At: at(minute), Identity: identity}
	}
	now, epoch := at(59), time.Unix(0, 0).UTC()
	setBack := func(store operation.Store, since time.Time) operation.Setback {
		return operation.Setback{Store: store, Since: since, NoticedAt: now}
	}
	for name, c := range map[string]struct {
		database, temporal operation.Mark
		want               operation.Setback
	}{
		"neither": {mark(7, 10, "a/1"), mark(7, 10, "a/1"), operation.Setback{}},
		"no sweep has left a mark": {
			operation.Mark{Identity: "a/1"}, operation.Mark{},
			operation.Setback{Unmarked: true, Since: now.Add(-time.Hour), NoticedAt: now},
		},
		"the database, a failover": {mark(6, 5, "a/2"), mark(7, 10, "a/1"), setBack(operation.StorePostgreSQL, at(5))},
		"the database, a restore":  {mark(6, 5, "a/1"), mark(7, 10, "a/1"), setBack(operation.StorePostgreSQL, at(5))},
		"the database is empty": {
			operation.Mark{Identity: "b/1"}, mark(7, 10, "a/1"), setBack(operation.StorePostgreSQL, epoch),
		},
		"Temporal":                  {mark(7, 10, "a/1"), mark(6, 5, "a/1"), setBack(operation.StoreTemporal, at(5))},
		"Temporal has no sweep":     {mark(7, 10, "a/1"), operation.Mark{}, setBack(operation.StoreTemporal, epoch)},
		"another server, same mark": {mark(7, 10, "a/2"), mark(7, 10, "a/1"), setBack("", at(10))},
	} {
		got := operation.CompareMarks(c.database, c.temporal, now)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.want.NoticedAt.IsZero(), got.IsZero(), name)
		require.Equal(t, !got.IsZero() && got.Store != operation.StoreTemporal && !got.Unmarked, got.MayLackCommits(), name)
	}
}

func TestASetbackIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	s := operation.Setback{
		Store: operation.StorePostgreSQL, Since: time.Date(2026, 11, 26, 22, 19, 57, 0, time.UTC),
		NoticedAt: time.Date(2026, 11, 26, 22, 24, 0, 0, time.UTC),
	}
	require.Equal(t, "PostgreSQL was set back to 2026-11-26 22:19:57 UTC or later (noticed at 22:24:00): "+
		"20 events restored, 0 unknown",
		s.Text(operation.Healed{Again: 20}))
	require.Equal(t, "the database server has changed since an unknown time (noticed at 22:24:00): 0 events restored, 1 unknown; "+
		"5 dead letters wait for an operator, since a decision about them may be lost; "+
		"2 events of the bulk lane are lost: get them from their providers",
		operation.Setback{NoticedAt: s.NoticedAt}.Text(operation.Healed{Unknown: 1, Waiting: 2, Held: 3, Bulk: 2}))
}

// The first sweep doesn't claim that a store was set back.
func TestTheFirstSweepSaysWhereItBegan(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 22, 24, 0, 0, time.UTC)
	s := operation.CompareMarks(operation.Mark{}, operation.Mark{}, at)
	require.Equal(t, "no earlier sweep had compared the stores, so this one began at 2026-11-26 21:24:00 UTC (noticed at 22:24:00): "+
		"20 events restored, 0 unknown", s.Text(operation.Healed{Again: 20}))
}

func TestOnlySomeKeysAreNamed(t *testing.T) {
	t.Parallel()
	var h operation.Healed
	require.True(t, h.IsZero())
	for range operation.MaxBulkKeys + 1 {
		h = h.With(operation.Healed{Bulk: 1, BulkKeys: []string{"acme:1"}})
	}
	require.Equal(t, operation.MaxBulkKeys+1, h.Bulk)
	require.Len(t, h.BulkKeys, operation.MaxBulkKeys)
}
