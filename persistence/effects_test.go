package persistence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
)

// On every page of a timeline, with checkpoints and without, the state before the page is what the model folds, so its effects
// are those of the whole timeline.
func TestEffectsOfAPageMatchTheWholeTimeline(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.CheckpointEvery(4)
	const changes = 60
	random := rand.New(rand.NewPCG(7, 7))
	for i := range changes {
		c := patch("1", fmt.Sprintf(`{"f%d":%d.0}`, random.IntN(5), random.IntN(4)))
		switch random.IntN(12) {
		case 0:
			c = snapshot("1", fmt.Sprintf(`{"f0":%d}`, i))
		case 1:
			c.State = []byte(`{}`)
		}
		p := parsed(c)
		p.OccurredAt = noon.Add(time.Duration(random.IntN(changes)) * time.Minute) // many are out of order
		db.process(receipt(), p)
	}
	for _, asOf := range []time.Time{{}, noon.Add(changes / 2 * time.Minute)} {
		q := event.TimelineQuery{Entity: thing("1"), AsOf: asOf}
		links, err := db.Read.TimelinePage(t.Context(), q)
		require.NoError(t, err)
		want, err := fold.Effects(event.Entity{}, true, links)
		require.NoError(t, err)
		var got []fold.Effect
		for q.Limit = 7; ; {
			page, err := db.Read.Effects(t.Context(), q)
			require.NoError(t, err)
			got = append(got, page...)
			if len(page) < 7 {
				break
			}
			q.Before = pointer(page[6].Cursor())
		}
		require.Equal(t, want, got)
		if asOf.IsZero() {
			require.Len(t, got, changes)
		} else {
			require.Less(t, len(got), changes)
		}
	}
}

// The state before a position after too many changes is unknown; after a reset or a checkpoint it is known.
func TestAStateBehindTooManyChanges(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', '1', 1, CASE i WHEN 1500 THEN 'snapshot' ELSE 'patch' END,
       jsonb_build_object('n', i), $1::timestamptz + i * interval '1 s' FROM generate_series(1, 2600) AS i`, noon)
	page := func(at int) []fold.Effect {
		place := &event.LinkCursor{OccurredAt: noon.Add(time.Duration(at) * time.Second), EventID: fmt.Sprintf("%08d-0000-0000-0000-000000000000", 0), Position: 1}
		effects, err := db.Read.Effects(t.Context(), event.TimelineQuery{Entity: thing("1"), Before: place, Limit: 2})
		require.NoError(t, err)
		require.Len(t, effects, 2)
		return effects
	}
	require.False(t, page(900)[1].Unknown, "the beginning is near")
	require.True(t, page(1400)[1].Unknown)
	require.False(t, page(2400)[1].Unknown, "the snapshot is near")
	require.Equal(t, []fold.FieldDiff{{Path: "/n", Old: []byte("2398"), New: []byte("2399")}}, page(2400)[0].Fields)
	require.True(t, page(2600)[1].Unknown)
	db.exec(`
INSERT INTO entity_checkpoints (provider, kind, external_id, links, occurred_at, event_id, latest_at, state, deleted)
SELECT provider, kind, external_id, 500, occurred_at, event_id, occurred_at, '{"n":2000}', false
  FROM event_entities WHERE change = '{"n":2000}'`)
	require.False(t, page(2600)[1].Unknown, "the checkpoint is near")
}

// A part of the history is collapsed: later changes have their effects, and changes too late for the base have none.
func TestEffectsAfterACollapsedHistory(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i := range 3 {
		p := parsed(patch("1", fmt.Sprintf(`{"n":%d}`, i)))
		p.OccurredAt = noon.Add(time.Duration(i) * time.Hour)
		db.process(receipt(), p)
	}
	links, err := db.Read.Timeline(t.Context(), thing("1"))
	require.NoError(t, err)
	db.exec(`
INSERT INTO entity_bases (provider, kind, external_id, links, occurred_at, event_id, latest_at, state, deleted, collapsed, first_id, last_id)
VALUES ('acme', 'thing', '1', 1, $1, $2, $1, '{"base":true,"n":7}', false, 1, $2, $2)`, links[0].OccurredAt, links[0].EventID)
	db.exec(`UPDATE entities SET base_at = $1, base_id = $2`, links[0].OccurredAt, links[0].EventID)
	for _, limit := range []int{2, 3} {
		effects, err := db.Read.Effects(t.Context(), event.TimelineQuery{Entity: thing("1"), Limit: limit})
		require.NoError(t, err)
		require.Equal(t, []fold.FieldDiff{{Path: "/n", Old: []byte("7"), New: []byte("1")}}, effects[1].Fields)
		require.Equal(t, limit == 3, effects[limit-1].WithoutEffect)
		require.False(t, effects[limit-1].Unknown)
	}
	db.exec(`UPDATE entity_bases SET latest_at = $1`, noon.Add(time.Minute))
	effects, err := db.Read.Effects(t.Context(), event.TimelineQuery{Entity: thing("1"), AsOf: noon.Add(time.Second)})
	require.NoError(t, err)
	require.Len(t, effects, 1)
}
