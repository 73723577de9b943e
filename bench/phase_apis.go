package main

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/event/operation"
	"holdfast/persistence"
)

const (
	sideKnown   = "listed event that is known"
	sideMissed  = "listed event that never arrived"
	sideFetched = "event whose state is fetched"
)

// The numbers of events in a list.
const (
	knownEvents  = 10_000
	missedEvents = 200
)

// apis measures what is read from providers' APIs: lists of events, and the states that events name.
func apis(ctx context.Context, s *suite) error {
	return s.withAPI(ctx, func(a *api) error {
		product := lab.Product{Role: roleServe, Database: lab.ProductDatabase, Environ: a.environ}
		return s.servingLike(ctx, product, func(node *lab.Node) error {
			store, err := persistence.Open(ctx, persistence.Config{
				URL: s.lab.Postgres.URL(lab.ProductDatabase), ApplicationName: "bench", MaxConns: 1,
			})
			if err != nil {
				return err
			}
			defer store.Close()
			w := walks{suite: s, api: a, node: node, store: store}
			return errors.Join(w.measure(ctx), s.fetches(ctx, node))
		})
	})
}

// walks recovers lists.
type walks struct {
	suite *suite
	api   *api
	node  *lab.Node
	store *persistence.Store
}

func (w *walks) measure(ctx context.Context) error {
	known := wantedList{Name: loadgen.RandomRun(), Count: w.suite.scaled(knownEvents)}
	if _, err := w.recover(ctx, walked, known, false); err != nil { // from now on they are known
		return err
	}
	t, err := w.suite.alternate(ctx,
		side{sideKnown, func(ctx context.Context) (slice, error) { return w.recover(ctx, walked, known, true) }},
		side{sideMissed, func(ctx context.Context) (slice, error) {
			return w.recover(ctx, missed, wantedList{Name: loadgen.RandomRun(), Count: w.suite.scaled(missedEvents)}, false)
		}})
	if err != nil {
		return err
	}
	w.suite.samples("known events read from a list", "/s", nil, t.values(sideKnown, rateOf))
	w.suite.samples("CPU of a known event", "ms", nil, t.values(sideKnown, cpuOf))
	w.suite.samples("missed events started", "/s", nil, t.values(sideMissed, rateOf))
	w.suite.samples("CPU of a missed event", "ms", nil, t.values(sideMissed, cpuOf))
	w.suite.value("CPU of the API, a listed event", "ms", nil, milliseconds(w.api.used)/float64(w.api.listed))
	return nil
}

// recover recovers a list, and waits until what was missed is processed. The rate is that until the recovery has ended.
func (w *walks) recover(ctx context.Context, provider string, list wantedList, dryRun bool) (slice, error) {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	if err := w.api.list(list); err != nil {
		return slice{}, err
	}
	before := w.suite.lab.Meter.Sample()
	id, err := recoveryOf(ctx, w.node, provider, dryRun)
	if err != nil {
		return slice{}, err
	}
	var r operation.Recovery
	err = lab.Poll(ctx, func() (bool, error) {
		if r, err = w.store.Recoveries.Read(ctx, id); err == nil && r.Problem != "" {
			err = errors.New(r.Problem)
		}
		return r.State.Ended(), err
	})
	if err == nil && !dryRun {
		err = w.awaitProcessed(ctx, provider, list)
	}
	if err != nil {
		return slice{}, fmt.Errorf("recovery %s: %w", id, err)
	}
	if want := [3]int64{list.Count, list.Count, 0}; dryRun && want != [3]int64{r.Listed, r.Known, r.Missed} ||
		!dryRun && r.Recovered != list.Count {
		return slice{}, fmt.Errorf("recovery %s of %d events has counted %+v", id, list.Count, r)
	}
	_, used, err := w.suite.used(ctx, before, nil)
	w.api.apart(used, list.Count)
	return slice{rate: float64(list.Count) / r.EndedAt.Sub(r.StartedAt).Seconds(), cost: cost(used, list.Count)}, err
}

func (w *walks) awaitProcessed(ctx context.Context, provider string, list wantedList) error {
	const processed = `SELECT count(*) FROM events WHERE provider = $1 AND key LIKE 'evt\_' || $2 || '\_%' AND status = 'processed'`
	return lab.Poll(ctx, func() (bool, error) {
		var n int64
		err := w.suite.lab.Ask(ctx, lab.ProductDatabase, &n, processed, provider, list.Name)
		return n == list.Count, err
	})
}

// fetches compares events whose state is fetched from the API with events that have it in their body.
func (s *suite) fetches(ctx context.Context, node *lab.Node) error {
	plain, fetched := load(node, stripe), load(node, thin)
	for _, d := range []*drive{&plain, &fetched} {
		d.Rate, d.Duration = lowRate, s.lasting(pacedTime)
	}
	t, err := s.alternate(ctx, s.loaded(sideEvent, plain), s.loaded(sideFetched, fetched))
	if err != nil {
		return err
	}
	var states int64
	if err := s.lab.Ask(ctx, lab.ProductDatabase, &states, `SELECT count(*) FROM fetched_states`); err != nil {
		return err
	}
	if states == 0 {
		return errors.New("no state was fetched")
	}
	done50, done99 := func(s *slice) float64 { return s.done50 }, func(s *slice) float64 { return s.done99 }
	s.samples("CPU of an event with a fetch / without", "", nil, t.ratios(sideFetched, sideEvent, cpuOf))
	s.samples("ACK to processed p50 with a fetch / without", "", nil, t.ratios(sideFetched, sideEvent, done50))
	s.samples("ACK to processed p50 with a fetch", "ms", nil, t.values(sideFetched, done50))
	s.samples("ACK to processed p99 with a fetch", "ms", nil, t.values(sideFetched, done99))
	return nil
}
