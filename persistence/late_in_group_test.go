package persistence_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/entities"
	"holdfast/persistence/writer"
)

// gate is a tracer that delays the pages of a fold after the first, until it is opened or their context ends.
type gate struct {
	panicking

	pages atomic.Int64
	open  chan struct{}
}

func (g *gate) TraceBatchStart(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	isPage := func(q *pgx.QueuedQuery) bool { return strings.Contains(q.SQL, "LIMIT $9") }
	if slices.ContainsFunc(d.Batch.QueuedQueries, isPage) && g.pages.Add(1) > 1 {
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return ctx
}

// longLife makes an entity with this many changes, written by a release without counts, so that only a fold of all of them shows
// its state before the last.
func longLife(db *database, id string, changes int) {
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', $1, 1, 'patch', '{"n":1}', $3::timestamptz - i * interval '1 ms'
  FROM generate_series(1, $2::integer) AS i`, id, changes, noon)
	db.exec(`
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
SELECT provider, kind, external_id, change, occurred_at, event_id FROM event_entities ORDER BY occurred_at DESC LIMIT 1`)
}

// An event so far out of order that its entity folds slowly leaves its group, and goes on alone; the others, one of which touches
// the same entity, are processed meanwhile. If more of them were out of order, they would leave it, too.
func TestAVeryLateEventLeavesItsGroup(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	db := open(t, func(c *persistence.Config) { c.Tracer = g })
	db.writeAs(entities.Config{}, writer.Config{FoldFor: time.Nanosecond})
	longLife(db, "old", 2500)
	db.mustProcess(receipt(), parsed(snapshot("other", `{"n":1}`))) // the first one reads the subscriptions
	late, p := receipt(), parsed(patch("old", `{"late":true}`))
	p.OccurredAt = noon.Add(-time.Hour)
	failed := make(chan error, 1)
	go func() {
		_, err := db.Writer.Write(t.Context(), event.WholeEvent, late, body, p, runOf(late))
		failed <- err
	}()
	var group errgroup.Group
	for i := range 79 {
		group.Go(func() error {
			id := fmt.Sprint("free", i)
			if i == 77 {
				id = "old"
			}
			r, p := receipt(), parsed(patch(id, fmt.Sprintf(`{"k%d":1}`, i)))
			p.OccurredAt = noon.Add(time.Duration(i) * time.Second)
			for {
				_, err := db.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
				if event.CodeOf(err) != "deadline_exceeded" { // on a busy machine a group can exceed its timeout
					return err
				}
			}
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, "slow_fold", event.CodeOf(<-failed))
	require.Equal(t, 80, value[int](db, `SELECT count(*) FROM events`))
	close(g.open)
	db.process(late, p)
	e, err := db.Read.Entity(t.Context(), thing("old"))
	require.NoError(t, err)
	require.Contains(t, string(e.State), `"late": true`)
	require.Contains(t, string(e.State), `"k77": 1`)
}

// In a batch it leaves for its own workflow.
func TestAVeryLateEventLeavesItsBatch(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.writeAs(entities.Config{}, writer.Config{FoldFor: time.Nanosecond})
	longLife(db, "old", 2500)
	late := db.bulk(receipt())
	for range 5 {
		db.bulk(receipt())
	}
	events, err := db.Writer.ProcessBatch(t.Context(), 10, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
		p := parsed(patch("old", `{"on":"top"}`))
		p.OccurredAt = noon.Add(time.Hour)
		if r.ID == late.ID {
			p.OccurredAt = noon.Add(-time.Hour)
		}
		return p, nil
	})
	require.NoError(t, err)
	require.Len(t, events, 6)
	for _, e := range events {
		require.Equal(t, e.Receipt.ID == late.ID, e.Outcome == event.OutcomeLeft)
	}
	require.Equal(t, late.ID, value[string](db, `SELECT event_id::text FROM inbox WHERE lane = 'overflow'`))
	require.Equal(t, 5, value[int](db, `SELECT count(*) FROM events WHERE status = 'processed'`))
}
