package phases

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/bench/suite"
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
func apis(ctx context.Context, s *bench) error {
	return s.WithAPI(ctx, func(a *suite.Api) error {
		product := lab.Product{Role: suite.RoleServe, Database: lab.ProductDatabase, Environ: a.Environ}
		return s.ServingLike(ctx, product, func(node *lab.Node) error {
			store, err := persistence.Open(ctx, persistence.Config{
				URL: s.Lab.Postgres.URL(lab.ProductDatabase), ApplicationName: "bench", MaxConns: 1,
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
	suite *bench
	api   *suite.Api
	node  *lab.Node
	store *persistence.Store
}

func (w *walks) measure(ctx context.Context) error {
	known := suite.WantedList{Name: loadgen.RandomRun(), Count: w.suite.Scaled(knownEvents)}
	if _, err := w.recover(ctx, suite.Walked, known, false); err != nil { // from now on they are known
		return err
	}
	t, err := w.suite.Alternate(ctx,
		side{Name: sideKnown, Measure: func(ctx context.Context) (slice, error) {
			return w.recover(ctx, suite.Walked, known, true)
		}},
		side{Name: sideMissed, Measure: func(ctx context.Context) (slice, error) {
			missed := suite.WantedList{Name: loadgen.RandomRun(), Count: w.suite.Scaled(missedEvents)}
			return w.recover(ctx, suite.Missed, missed, false)
		}})
	if err != nil {
		return err
	}
	w.suite.Samples("known events read from a list", "/s", nil, t.Values(sideKnown, suite.RateOf))
	w.suite.Samples("CPU of a known event", "ms", nil, t.Values(sideKnown, suite.CPUOf))
	w.suite.Samples("missed events started", "/s", nil, t.Values(sideMissed, suite.RateOf))
	w.suite.Samples("CPU of a missed event", "ms", nil, t.Values(sideMissed, suite.CPUOf))
	w.suite.Value("CPU of the API, a listed event", "ms", nil, suite.Milliseconds(w.api.Used)/float64(w.api.Listed))
	return nil
}

// recover recovers a list, and waits until what was missed is processed. The rate is that until the recovery has ended.
func (w *walks) recover(ctx context.Context, provider string, list suite.WantedList, dryRun bool) (slice, error) {
	ctx, cancel := context.WithTimeout(ctx, suite.DrainLimit)
	defer cancel()
	if err := w.api.List(list); err != nil {
		return slice{}, err
	}
	before := w.suite.Lab.Meter.Sample()
	id, err := suite.RecoveryOf(ctx, w.node, provider, dryRun)
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
	_, used, err := w.suite.Used(ctx, before, nil)
	w.api.Apart(used, list.Count)
	return slice{Rate: float64(list.Count) / r.EndedAt.Sub(r.StartedAt).Seconds(), Cost: suite.Cost(used, list.Count)}, err
}

func (w *walks) awaitProcessed(ctx context.Context, provider string, list suite.WantedList) error {
	const processed = `SELECT count(*) FROM events WHERE provider = $1 AND key LIKE 'evt\_' || $2 || '\_%' AND status = 'processed'`
	return lab.Poll(ctx, func() (bool, error) {
		var n int64
		err := w.suite.Lab.Ask(ctx, lab.ProductDatabase, &n, processed, provider, list.Name)
		return n == list.Count, err
	})
}

// fetches compares events whose state is fetched from the API with events that have it in their body.
func (s *bench) fetches(ctx context.Context, node *lab.Node) error {
	plain, fetched := suite.Load(node, suite.Stripe), suite.Load(node, suite.Thin)
	for _, d := range []*drive{&plain, &fetched} {
		d.Rate, d.Duration = suite.LowRate, s.Lasting(suite.PacedTime)
	}
	t, err := s.Alternate(ctx, s.Loaded(sideEvent, plain), s.Loaded(sideFetched, fetched))
	if err != nil {
		return err
	}
	var states int64
	if err := s.Lab.Ask(ctx, lab.ProductDatabase, &states, `SELECT count(*) FROM fetched_states`); err != nil {
		return err
	}
	if states == 0 {
		return errors.New("no state was fetched")
	}
	done50, done99 := func(s *slice) float64 { return s.Done50 }, func(s *slice) float64 { return s.Done99 }
	s.Samples("CPU of an event with a fetch / without", "", nil, t.Ratios(sideFetched, sideEvent, suite.CPUOf))
	s.Samples("ACK to processed p50 with a fetch / without", "", nil, t.Ratios(sideFetched, sideEvent, done50))
	s.Samples("ACK to processed p50 with a fetch", "ms", nil, t.Values(sideFetched, done50))
	s.Samples("ACK to processed p99 with a fetch", "ms", nil, t.Values(sideFetched, done99))
	return nil
}
