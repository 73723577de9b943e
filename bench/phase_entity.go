package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"holdfast/bench/figures"
	"holdfast/event"
	"holdfast/persistence"
)

const (
	entityDatabase = "entity"
	oldLinks       = 300_000
	youngLinks     = 10
	// latest is how many changes a late one has behind it at most.
	latest = 32
	// entitySlice is shorter than others: nothing settles after it.
	entitySlice = time.Second
)

// fillEntity gives the old entity a change each millisecond until the beginning of 2026.
const fillEntity = `
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT gen_random_uuid(), 'stripe', 'customer', 'old', 1, 'patch', '{"n":0}', timestamptz '2026-01-01Z' - i * interval '1 ms'
  FROM generate_series(1, %d) AS i;
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
SELECT provider, kind, external_id, change, occurred_at, event_id FROM event_entities ORDER BY occurred_at DESC LIMIT 1;
ANALYZE`

// entity compares what is done in a second of the writer's work: patches of an entity with a long life, and of entities with a
// short one, every other one late by some changes. There is nothing but the writer and its database here, so that nothing hides
// what the fold costs.
func entity(ctx context.Context, s *suite) error {
	if err := s.lab.Migrate(ctx, entityDatabase); err != nil {
		return err
	}
	if err := s.lab.Exec(ctx, entityDatabase, fmt.Sprintf(fillEntity, s.scaled(oldLinks))); err != nil {
		return err
	}
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.lab.Postgres.URL(entityDatabase), ApplicationName: "bench", MaxConns: 2, LockTimeout: time.Minute,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	const sideOld, sideYoung = "late change of an old entity", "late change of a young entity"
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old := &patches{store: store, at: begun, name: func(int) string { return "old" }}
	young := &patches{store: store, at: begun, name: func(i int) string { return fmt.Sprintf("young%d", i/youngLinks) }}
	if err := s.ripen(ctx, old); err != nil {
		return err
	}
	t, err := s.alternate(ctx, old.side(sideOld), young.side(sideYoung))
	if err != nil {
		return err
	}
	s.samples("300,000 links / 10 links, late by 1 to 32", "", figures.AtLeast(0.9), t.ratios(sideOld, sideYoung, rateOf))
	s.samples("changes of an entity with 300,000 links", "/s", nil, t.values(sideOld, rateOf))
	for _, p := range []*patches{old, young} {
		if err := p.check(ctx); err != nil {
			return err
		}
	}
	s.phase.Checks = append(s.phase.Checks, fmt.Sprintf("%d changes: each entity is the fold of its own", old.n+young.n))
	return nil
}

// patches are changes of entities, of which every other one comes late.
type patches struct {
	store *persistence.Store
	name  func(i int) string // of the entity of change i
	at    time.Time          // of the last one that was in order
	n     int
	last  int // the number of that one
}

// held is how long a lock is held so that who waits for it gives up in company.
const held = 3 * time.Second

// ripen has the writer make the checkpoints of an entity that has none, with the first change that is late. That reads a whole
// life, for which a transaction that events share has too little time; one of an event that has waited for a lock has enough.
func (s *suite) ripen(ctx context.Context, p *patches) error {
	if err := p.write(ctx); err != nil {
		return err
	}
	locked := make(chan error, 1)
	go func() {
		locked <- s.lab.Exec(ctx, entityDatabase, fmt.Sprintf(`SELECT FROM entities FOR UPDATE; SELECT pg_sleep(%f)`, held.Seconds()))
	}()
	time.Sleep(held / 10) //nolint:forbidigo // it has the lock by then, or the change takes its chance
	return errors.Join(p.write(ctx), <-locked)
}

func (p *patches) side(name string) side {
	return side{name, func(ctx context.Context) (slice, error) {
		begun, before := time.Now(), p.n
		for time.Since(begun) < entitySlice {
			if err := p.write(ctx); err != nil {
				return slice{}, err
			}
		}
		return slice{rate: float64(p.n-before) / time.Since(begun).Seconds()}, nil
	}}
}

// write writes the next change. Those in order are a millisecond apart and have one between them, so that half as many milliseconds
// are as late as is wanted.
func (p *patches) write(ctx context.Context) error {
	at := p.at.Add(-time.Duration(1+rand.IntN(latest/2))*time.Millisecond - time.Microsecond)
	if p.n%2 == 0 {
		p.at = p.at.Add(time.Millisecond)
		at, p.last = p.at, p.n
	}
	key := uuid.NewString()
	r := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: stripe, Key: key, KeyFrom: event.KeyFromEvent, ReceivedAt: time.Now().UTC(),
	}
	parsed := event.Parsed{Type: eventType, OccurredAt: at, Changes: []event.Change{{
		Kind: "customer", ExternalID: p.name(p.n), Op: event.OpPatch, State: fmt.Appendf(nil, `{"n":%d}`, p.n),
	}}}
	stored, err := p.store.Process(ctx, r, []byte(`{}`), parsed, event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()})
	if err == nil && !stored.Processed {
		err = fmt.Errorf("change %d was not stored", p.n)
	}
	if err == nil {
		p.n++
	}
	return err
}

// check reads the last entity: it must be as the latest change in order has left it, whatever came after that.
func (p *patches) check(ctx context.Context) error {
	e, err := p.store.Entity(ctx, event.EntityRef{Provider: stripe, Kind: "customer", ExternalID: p.name(p.last)})
	if err != nil {
		return err
	}
	var state struct {
		N int `json:"n"`
	}
	if err := json.Unmarshal(e.State, &state); err != nil {
		return err
	}
	if state.N != p.last {
		return fmt.Errorf("%s is as change %d has left it, and change %d is the latest", e.ExternalID, state.N, p.last)
	}
	return nil
}
