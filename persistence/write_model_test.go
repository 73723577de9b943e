package persistence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/persistence/postgres"
)

// model is what the tables must contain after any events, as simply as possible: an event that gets its key stays, its changes
// are those of its latest parse, and an entity is the fold of everything.
type model struct {
	keys   map[modelKey]event.Receipt // its owner
	events map[string]event.Outcome
	links  map[event.EntityRef]map[string][]event.OrderedChange // by event
	heard  map[modelKind][][]event.Name                         // of one entity
}

type modelKind struct{ provider, kind string }

type modelKey struct{ provider, key string }

func newModel() *model {
	return &model{
		keys: map[modelKey]event.Receipt{}, events: map[string]event.Outcome{},
		links: map[event.EntityRef]map[string][]event.OrderedChange{}, heard: map[modelKind][][]event.Name{},
	}
}

func (m *model) process(r event.Receipt, p event.Parsed) {
	key := modelKey{r.Provider, r.Key}
	if _, stored := m.events[r.ID]; !stored {
		owner, taken := m.keys[key]
		if taken && !r.OutsideWindowOf(owner.ReceivedAt) {
			return
		}
		if !taken || r.ReceivedAt.After(owner.ReceivedAt) {
			m.keys[key] = r
		}
	}
	m.events[r.ID] = event.OutcomeProcessed
	for _, links := range m.links {
		delete(links, r.ID)
	}
	if p.Outcome == event.OutcomeIgnored {
		m.events[r.ID] = event.OutcomeIgnored
		return
	}
	for _, c := range p.Changes {
		c.State, _ = postgres.Project(c.State)
		ref := event.EntityRef{Provider: r.Provider, Kind: c.Kind, ExternalID: c.ExternalID}
		if kind := (modelKind{r.Provider, c.Kind}); len(c.Names) > 0 {
			m.heard[kind] = append(m.heard[kind], c.Names)
		}
		if m.links[ref] == nil {
			m.links[ref] = map[string][]event.OrderedChange{}
		}
		m.links[ref][r.ID] = append(m.links[ref][r.ID], event.OrderedChange{Order: event.OrderOf(r, p, c), Change: c})
	}
}

// entities returns texts: the state, and what it was last changed by.
func (m *model) entities(t *testing.T) map[event.EntityRef]string {
	all, changes := map[event.EntityRef]string{}, map[event.EntityRef][]event.OrderedChange{}
	for ref, links := range m.links {
		if best, is := bestNames(m.heard[modelKind{ref.Provider, ref.Kind}])[ref.ExternalID]; is {
			ref.ExternalID = best
		}
		for _, of := range links {
			changes[ref] = append(changes[ref], of...)
		}
	}
	for ref, of := range changes {
		e, err := fold.Of(ref, of)
		require.NoError(t, err)
		all[ref] = entityText(t, e)
	}
	return all
}

func entityText(t *testing.T, e event.Entity) string {
	var state any
	require.NoError(t, json.Unmarshal(e.State, &state))
	text, err := json.Marshal(state)
	require.NoError(t, err)
	return fmt.Sprintf("%s deleted=%t last=%s", text, e.Deleted, e.Last.EventID)
}

// Whatever is received, in whatever groups and by whichever path, the tables match the model: new events and old ones, of new
// keys and of known ones, in and out of their window, in and out of order, parsed again with another result, ignored.
func TestTheWriterAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			source := newEventSource(t, rand.New(rand.NewPCG(seed, 7)))
			db, m := open(t), newModel()
			var sent []incoming
			for range 60 {
				group := source.group(1+source.random.IntN(30), sent)
				sent = append(sent, group...)
				for _, a := range group {
					m.process(a.receipt, a.parsed)
				}
				source.send(db, group)
				if source.random.IntN(10) == 0 {
					source.clock = source.clock.Add(2 * time.Hour) // windows of short.* end
				}
			}
			requireModel(t, db, m)
		})
	}
}

// incoming is an event as a worker receives it.
type incoming struct {
	receipt event.Receipt
	body    []byte
	parsed  event.Parsed
}

// group returns concurrent events with different keys, so that their order doesn't matter. Some are redeliveries, and some of
// those are parsed differently now.
func (s *eventSource) group(n int, sent []incoming) (group []incoming) {
	keys := map[modelKey]bool{}
	for range n {
		var a incoming
		if len(sent) > 0 && s.random.IntN(4) == 0 {
			a = sent[s.random.IntN(len(sent))]
			if s.random.IntN(2) == 0 {
				a.parsed.Changes = sent[s.random.IntN(len(sent))].parsed.Changes
			}
		} else {
			a.receipt, a.body = s.next()
			var err error
			if a.parsed, err = s.parse(a.receipt, a.body); err != nil {
				continue
			}
		}
		if key := (modelKey{a.receipt.Provider, a.receipt.Key}); !keys[key] {
			keys[key] = true
			group = append(group, a)
		}
	}
	return group
}

// send sends a group by one of the paths.
func (s *eventSource) send(db *database, group []incoming) {
	ctx, way := s.t.Context(), s.random.IntN(3)
	if way == 0 {
		s.sendInBulk(db, group)
		return
	}
	var all errgroup.Group
	for _, a := range group {
		all.Go(func() error {
			r, p := a.receipt, a.parsed
			if way == 1 {
				if _, err := db.Writer.Write(ctx, event.WholeEvent, r, a.body, p, runOf(r)); err == nil {
					return nil
				}
			}
			persisted, err := db.Writer.Write(ctx, event.RowOnly, r, a.body, p, runOf(r))
			if err != nil || persisted.Duplicate || p.Outcome == event.OutcomeIgnored {
				return err
			}
			return db.UpsertEntities(ctx, r, p, runOf(r))
		})
	}
	require.NoError(s.t, all.Wait())
}

func (s *eventSource) sendInBulk(db *database, group []incoming) {
	inbox, parsed := db.Inbox.NewInboxWriter(), map[string]event.Parsed{}
	for _, a := range group {
		parsed[a.receipt.ID] = a.parsed
		_, err := inbox.Spool(s.t.Context(), event.LaneBulk, a.receipt, a.body, false)
		require.NoError(s.t, err)
	}
	for {
		batch, err := db.Writer.ProcessBatch(s.t.Context(), 20, newBatchRun(), func(r event.Receipt, _ []byte) (event.Parsed, error) {
			return parsed[r.ID], nil
		})
		require.NoError(s.t, err)
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			require.NotEqual(s.t, event.OutcomeLeft, e.Outcome, "%v", e.Reason)
		}
	}
}

func requireModel(t *testing.T, db *database, m *model) {
	t.Helper()
	rows, err := db.sql.Query(t.Context(), `SELECT id::text, outcome FROM events`)
	require.NoError(t, err)
	events, id, outcome := map[string]event.Outcome{}, "", event.Outcome("")
	_, err = pgx.ForEachRow(rows, []any{&id, &outcome}, func() error { events[id] = outcome; return nil })
	require.NoError(t, err)
	require.Equal(t, m.events, events)

	rows, err = db.sql.Query(t.Context(), `SELECT provider, kind, external_id, state, deleted, coalesce(last_event_id::text, '') FROM entities`)
	require.NoError(t, err)
	entities, e := map[event.EntityRef]string{}, event.Entity{}
	_, err = pgx.ForEachRow(rows, []any{&e.Provider, &e.Kind, &e.ExternalID, &e.State, &e.Deleted, &e.Last.EventID}, func() error {
		entities[e.EntityRef] = entityText(t, e)
		return nil
	})
	require.NoError(t, err)
	wanted := m.entities(t)
	for ref := range entities {
		require.Equal(t, wanted[ref], entities[ref], ref)
	}
	require.Len(t, entities, len(wanted))

	rows, err = db.sql.Query(t.Context(), `SELECT provider, key, event_id::text FROM idempotency_keys`)
	require.NoError(t, err)
	keys, key := map[modelKey]string{}, modelKey{}
	_, err = pgx.ForEachRow(rows, []any{&key.provider, &key.key, &id}, func() error { keys[key] = id; return nil })
	require.NoError(t, err)
	want := map[modelKey]string{}
	for k, owner := range m.keys {
		want[k] = owner.ID
	}
	require.Equal(t, want, keys)
}
