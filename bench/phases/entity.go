package phases

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/event"
	"holdfast/persistence"
)

const (
	entityDatabase = "entity"
	oldLinks       = 300_000
	youngLinks     = 10
	// latest is the maximum number of changes by which a change is out of order.
	latest = 32
	// entitySlice is shorter than others, because nothing settles after it.
	entitySlice = time.Second
)

// fillEntity gives the old entity one change per millisecond until the beginning of 2026.
const fillEntity = `
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT gen_random_uuid(), 'stripe', 'customer', 'old', 1, 'patch', '{"n":0}', timestamptz '2026-01-01Z' - i * interval '1 ms'
  FROM generate_series(1, %d) AS i;
INSERT INTO entities (provider, kind, external_id, state, occurred_at, last_event_id)
SELECT provider, kind, external_id, change, occurred_at, event_id FROM event_entities ORDER BY occurred_at DESC LIMIT 1;
ANALYZE`

// entity compares the writer's rate for patches of an entity with a long life, and of entities with a short one, every other
// one out of order by some changes. It uses only the writer and its database, so that nothing hides the cost of the fold.
func entity(ctx context.Context, s *bench) error {
	if err := s.Lab.Migrate(ctx, entityDatabase); err != nil {
		return err
	}
	if err := s.Lab.Exec(ctx, entityDatabase, fmt.Sprintf(fillEntity, s.Scaled(oldLinks))); err != nil {
		return err
	}
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.Lab.Postgres.URL(entityDatabase), ApplicationName: "bench", MaxConns: 2, StatementTimeout: time.Minute,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	const sideOld, sideYoung = "late change of an old entity", "late change of a young entity"
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old := &patches{store: store, at: begun, name: func(int) string { return "old" }}
	young := &patches{store: store, at: begun, name: func(i int) string { return fmt.Sprintf("young%d", i/youngLinks) }}
	if err := old.ripen(ctx); err != nil {
		return err
	}
	t, err := s.Alternate(ctx, s.patching(sideOld, old), s.patching(sideYoung, young))
	if err != nil {
		return err
	}
	s.Samples("300,000 links / 10 links, late by 1 to 32", "", figures.AtLeast(0.9), t.Ratios(sideOld, sideYoung, suite.RateOf))
	s.Samples("CPU with 300,000 links / with 10", "", nil, t.Ratios(sideOld, sideYoung, suite.CPUOf))
	s.Samples("changes of an entity with 300,000 links", "/s", nil, t.Values(sideOld, suite.RateOf))
	for _, p := range []*patches{old, young} {
		if err := p.check(ctx); err != nil {
			return err
		}
	}
	s.Phase.Checks = append(s.Phase.Checks, fmt.Sprintf("%d changes: each entity is the fold of its own", old.n+young.n))
	return nil
}

// patches are changes of entities, every other one out of order.
type patches struct {
	store *persistence.Store
	name  func(i int) string // of the entity of change i
	at    time.Time          // of the last one in order
	n     int
	last  int // its number
}

// ripen makes the writer create the checkpoints of an entity that has none, with the first out-of-order change. That reads a
// whole life, for which the transaction that events share is too short on a busy machine; that of the upsert step is long
// enough.
func (p *patches) ripen(ctx context.Context) error {
	if err := p.write(ctx); err != nil {
		return err
	}
	r, parsed, run := p.next()
	if _, err := p.store.Writer.Write(ctx, event.RowOnly, r, []byte(`{}`), parsed, run); err != nil {
		return err
	}
	p.n++
	_, err := p.store.Writer.Write(ctx, event.EntitiesOnly, r, nil, parsed, run)
	return err
}

// patching returns a side with as many changes as fit into a slice, one after the other. This process writes them itself, so
// its own CPU counts.
func (s *bench) patching(name string, p *patches) side {
	return side{Name: name, Measure: func(ctx context.Context) (slice, error) {
		begun, before, first := time.Now(), s.Lab.Meter.Sample(), p.n
		for time.Since(begun) < entitySlice {
			if err := p.write(ctx); err != nil {
				return slice{}, err
			}
		}
		done, took := p.n-first, time.Since(begun)
		each := map[string]float64{}
		for label, used := range s.Lab.Meter.Sample().CPU.Sub(before.CPU) {
			if label == lab.LabelLoad || label == lab.DatabaseLabel(entityDatabase) {
				each[label] = suite.Milliseconds(used) / float64(done)
			}
		}
		return slice{Rate: float64(done) / took.Seconds(), Cost: each}, nil
	}}
}

// next returns the next change. Those in order are a millisecond apart with one between them, so that half as many milliseconds
// reach the wanted lateness.
func (p *patches) next() (event.Receipt, event.Parsed, event.Run) {
	at := p.at.Add(-time.Duration(1+p.n/2%(latest/2))*time.Millisecond - time.Microsecond)
	if p.n%2 == 0 {
		p.at = p.at.Add(time.Millisecond)
		at, p.last = p.at, p.n
	}
	r := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: suite.Stripe, Key: uuid.NewString(), KeyFrom: event.KeyFromEvent,
		ReceivedAt: time.Now().UTC(),
	}
	parsed := event.Parsed{Type: suite.EventType, OccurredAt: at, Changes: []event.Change{{
		Kind: "customer", ExternalID: p.name(p.n), Op: event.OpPatch, State: fmt.Appendf(nil, `{"n":%d}`, p.n),
	}}}
	return r, parsed, event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()}
}

func (p *patches) write(ctx context.Context) error {
	r, parsed, run := p.next()
	stored, err := p.store.Writer.Write(ctx, event.WholeEvent, r, []byte(`{}`), parsed, run)
	if err == nil && !stored.Processed {
		err = fmt.Errorf("change %d was not stored", p.n)
	}
	p.n++
	return err
}

// check reads the last entity, which must be as the latest change in order has left it.
func (p *patches) check(ctx context.Context) error {
	e, err := p.store.Read.Entity(ctx, event.EntityRef{Provider: suite.Stripe, Kind: "customer", ExternalID: p.name(p.last)})
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
