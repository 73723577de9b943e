package persistence_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/retention"
)

// knownFrom returns the state at a time, or the time from which on one is known.
func (d *database) knownFrom(ref event.EntityRef, at time.Time) (state string, from time.Time) {
	d.t.Helper()
	e, err := d.Entities.EntityAsOf(d.t.Context(), ref, at)
	var collapsed *event.CollapsedError
	if errors.As(err, &collapsed) {
		return "", collapsed.Before
	}
	require.NoError(d.t, err)
	return string(e.State), time.Time{}
}

// A purge removes what comes before the last purged snapshot. The state before that one is unknown, whatever is left of it: also
// whether there was one.
func TestAStateThatWasPurgedIsNotGuessed(t *testing.T) {
	t.Parallel()
	db := open(t)
	day := func(n float64) time.Time { return noon.Add(time.Duration(n * 24 * float64(time.Hour))) }
	for n, c := range []event.Change{
		snapshot("1", `{"n":1}`), patch("1", `{"m":1}`), snapshot("1", `{"n":2}`), patch("1", `{"m":2}`), snapshot("1", `{"n":3}`),
	} {
		p := parsed(c)
		p.OccurredAt = day(float64(n))
		db.process(receiptAt(p.OccurredAt), p)
	}
	late := parsed(patch("1", `{"late":true}`)) // before the purged snapshot, and too young to be purged with it
	late.OccurredAt = day(1.5)
	db.process(receiptAt(day(4)), late)
	whole, err := db.Read.Entity(t.Context(), thing("1"))
	require.NoError(t, err)
	require.Nil(t, whole.CollapsedUntil)

	require.EqualValues(t, 4, db.purge(retention.Events, day(3.5)))
	for _, n := range []float64{-1, 0, 0.5, 1.5, 1.9} {
		_, from := db.knownFrom(thing("1"), day(n))
		require.Equal(t, day(2), from, "day %v", n)
	}
	for n, want := range map[float64]string{2: `{"n":2}`, 3: `{"n":2,"m":2}`, 4: `{"n":3}`} {
		state, _ := db.knownFrom(thing("1"), day(n))
		require.JSONEq(t, want, state)
	}
	e, err := db.Read.Entity(t.Context(), thing("1"))
	require.NoError(t, err)
	require.Equal(t, day(2), *e.CollapsedUntil)

	effects, err := db.Read.Effects(t.Context(), event.TimelineQuery{Entity: thing("1"), Limit: 3})
	require.NoError(t, err)
	require.True(t, effects[2].Unknown, "what was before the snapshot is gone")
	require.False(t, effects[1].Unknown, "what comes after it is compared with it")
	effects, err = db.Read.Effects(t.Context(), event.TimelineQuery{Entity: thing("1"), Limit: 10, AsOf: day(1.9)})
	require.NoError(t, err)
	require.Len(t, effects, 1)
	require.True(t, effects[0].Unknown, "what was before the late change is gone")
}

// The last purged mention stays. Before it, the entity may have existed.
func TestAnEntityThatWasMentionedBeforeAPurge(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(2)
	for n := range 4 {
		p := parsed(patch("1", `{}`))
		p.OccurredAt = noon.Add(time.Duration(n) * time.Hour)
		db.process(receiptAt(p.OccurredAt), p)
	}
	require.EqualValues(t, 3, db.purge(retention.Events, noon.Add(150*time.Minute)))
	_, from := db.knownFrom(thing("1"), noon.Add(time.Hour))
	require.Equal(t, noon.Add(2*time.Hour), from)
	state, _ := db.knownFrom(thing("1"), from)
	require.JSONEq(t, `{}`, state)
	_, err := db.Entities.EntityAsOf(t.Context(), thing("other"), noon)
	require.ErrorIs(t, err, event.ErrNotFound)
	require.NotContains(t, err.Error(), "known from")
}
