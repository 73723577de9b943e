package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/delivery"
	"holdfast/persistence"
)

const (
	// isolated is the number of endpoints, each subscribed to one customer's events.
	isolated = 10_000
	// badShare of them are dead, and as many answer after slowAnswer.
	badShare   = 0.01
	slowAnswer = 14 * time.Second
	// isolationRate is in events per second, low enough that nothing waits for the machine.
	isolationRate = 40
)

// isolation compares how soon healthy endpoints get their events if all are healthy, and if some are dead or slow.
func isolation(ctx context.Context, s *bench) (err error) {
	well, slow := (*lab.Endpoint)(nil), (*lab.Endpoint)(nil)
	if well, err = lab.NewEndpoint(0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, well.Close()) }()
	if slow, err = lab.NewEndpoint(slowAnswer); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, slow.Close()) }()
	all := outlet{Endpoints: []*lab.Endpoint{well}, Each: 1}
	return s.WithOutlet(ctx, "well", customers(0, well, slow), all, func(good *outlet) error {
		return s.WithOutlet(ctx, "troubled", customers(badShare, well, slow), all, func(bad *outlet) error {
			const sideHealthy, sideFailing = "all healthy", "some failing"
			t, err := s.Alternate(ctx, s.isolatedLoad(sideHealthy, good), s.isolatedLoad(sideFailing, bad))
			if err != nil {
				return err
			}
			done50, done99 := func(s *slice) float64 { return s.Done50 }, func(s *slice) float64 { return s.Done99 }
			s.Samples("commit to POST p50 of healthy endpoints, some failing / none", "", figures.AtMost(1.25),
				t.Ratios(sideFailing, sideHealthy, done50))
			s.Samples("commit to POST p99 of healthy endpoints, some failing / none", "", figures.AtMost(1.25),
				t.Ratios(sideFailing, sideHealthy, done99))
			s.Samples("commit to POST p99, all healthy", "ms", nil, t.Values(sideHealthy, done99))
			s.Samples("commit to POST p99, some failing", "ms", nil, t.Values(sideFailing, done99))
			return nil
		})
	})
}

// customers subscribes each endpoint to one customer.
func customers(bad float64, well, slow *lab.Endpoint) func(context.Context, *persistence.Store) error {
	return func(ctx context.Context, store *persistence.Store) error {
		for i := range isolated {
			url := well.URL
			switch n := float64(i%100) / 100; {
			case n < bad:
				url = "http://127.0.0.1:9" // no server listens there
			case n < 2*bad:
				url = slow.URL
			}
			d := delivery.Destination{Name: fmt.Sprintf("customer-%d", i), HTTP: &delivery.HTTP{URL: url}}
			filter := fmt.Sprintf(`.body.data.object.id == "cus_%d"`, i)
			if err := suite.Subscribe(ctx, store, d, delivery.Subscription{Events: delivery.Events{Filter: filter}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// isolatedLoad returns a side of events about all customers; it ends when they are processed, even if deliveries are still
// pending.
func (s *bench) isolatedLoad(name string, o *outlet) side {
	return side{Name: name, Measure: func(ctx context.Context) (slice, error) {
		d := suite.Load(o.Node, suite.Stripe)
		d.Database, d.Entities, d.Rate, d.Duration = o.Database, isolated, isolationRate, s.Lasting(2*suite.PacedTime)
		o.Endpoints[0].Remember()
		got, err := s.Drive(ctx, d)
		if err != nil {
			return slice{}, err
		}
		waits, err := o.FromCommit(ctx)
		slices.Sort(waits)
		one := suite.SliceOf(got)
		if len(waits) > 0 {
			one.Done50, one.Done99 = waits[len(waits)/2], waits[len(waits)*99/100]
		}
		return one, err
	}}
}

const (
	// unindexed is the number of different filters that no index replaces, all of one provider's events.
	unindexed = 10_000
	// concerned is how many events a second they are evaluated for.
	concerned = 1
)

// filters compares events at the low rate with those next to events of another provider, for which all filters are evaluated.
func filters(ctx context.Context, s *bench) error {
	return s.WithOutlet(ctx, "filters", ofNoEvent, outlet{}, func(o *outlet) error {
		const sideAlone, sideBeside = "event", "event, next to 10,000 filters"
		load, other := suite.Load(o.Node, suite.Stripe), suite.Load(o.Node, suite.Firehose)
		load.Database, load.Rate, load.Duration = o.Database, suite.LowRate, s.Lasting(suite.PacedTime)
		other.Database, other.Rate, other.Duration = o.Database, concerned, load.Duration
		alone := s.Loaded(sideAlone, load)
		t, err := s.Alternate(ctx, alone, side{Name: sideBeside, Measure: func(ctx context.Context) (one slice, err error) {
			wait, err := s.Alongside(ctx, other)
			if err != nil {
				return one, err
			}
			defer func() { err = errors.Join(err, wait()) }()
			return alone.Measure(ctx)
		}})
		if err != nil {
			return err
		}
		done99 := func(s *slice) float64 { return s.Done99 }
		s.Samples("ACK p99 next to 10,000 filters / alone", "", figures.AtMost(1.25), t.Ratios(sideBeside, sideAlone, suite.P99Of))
		s.Samples("ACK to processed p99 next to 10,000 filters / alone", "", figures.AtMost(1.25),
			t.Ratios(sideBeside, sideAlone, done99))
		for _, name := range []string{sideAlone, sideBeside} {
			s.Samples("ACK p99: "+name, "ms", nil, t.Values(name, suite.P99Of))
			s.Samples("ACK to processed p99: "+name, "ms", nil, t.Values(name, done99))
		}
		return nil
	})
}

// ofNoEvent subscribes a destination to events of one provider, with different filters that none of them passes.
func ofNoEvent(ctx context.Context, store *persistence.Store) error {
	to := delivery.Destination{Name: "endpoint", HTTP: &delivery.HTTP{URL: "http://127.0.0.1:9"}}
	if _, err := store.Subscriptions.ApplyDestination(ctx, to, []delivery.Secret{{Value: lab.Secret}}, suite.Bench); err != nil {
		return err
	}
	for i := range unindexed {
		_, err := store.Subscriptions.ApplySubscription(ctx, delivery.Subscription{
			Name: fmt.Sprintf("filter-%d", i), To: to.Name, Active: true, Events: delivery.Events{
				Providers: []string{suite.Firehose}, Filter: fmt.Sprintf(`(.body.data.object.id | length) + 1 == %d`, 1000+i),
			},
		}, suite.Bench)
		if err != nil {
			return err
		}
	}
	return nil
}
