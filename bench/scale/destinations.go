package scale

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/suite"
)

const (
	manyDestinations = 1000
	// backlog is how many deliveries wait for all destinations together.
	backlog = 5000

	pause = `
INSERT INTO destination_states (destination_id, state) SELECT id, 'paused' FROM destinations
ON CONFLICT (destination_id) DO UPDATE SET state = 'paused'`
	resume = `UPDATE destination_states SET state = 'ready', next_at = statement_timestamp()`
)

// destinations compares one destination with many, with as many deliveries waiting: while all are paused, while they are
// delivered, and while all fail. Four processes deliver to many as well.
func destinations(ctx context.Context, s *suite.Suite) error {
	var queued, paused, drained, failing [3]usage
	for i, n := range []int{1, manyDestinations, manyDestinations} {
		serve := []int{1, 1, 4}[i]
		err := serving(ctx, s, fmt.Sprintf("scale_destinations_%d", i), serve, n, nil, func(w *world) (err error) {
			if queued[i], err = w.fill(ctx, n); err != nil {
				return err
			}
			if paused[i], err = w.rest(ctx); err != nil {
				return err
			}
			drained[i], err = w.each(ctx, backlog, func() error {
				want := w.endpoint.accepted.Load() + backlog
				return errors.Join(w.Lab.Exec(ctx, w.database, resume),
					w.await(ctx, func() (bool, error) { return w.endpoint.accepted.Load() >= want, nil }))
			})
			if err != nil {
				return err
			}
			if _, err := w.fill(ctx, n); err != nil {
				return err
			}
			w.endpoint.refuses.Store(true)
			if err := w.Lab.Exec(ctx, w.database, resume); err != nil {
				return err
			}
			if err := w.awaitRows(ctx, n, `SELECT count(*) FROM destination_states WHERE breaker <> 'closed'`); err != nil {
				return err
			}
			failing[i], err = w.rest(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, large := range []string{"", "1,000 destinations", "1,000 destinations, 4 serve"} {
		if i > 0 {
			compare(s, "a delivery when it is queued", large, queued[0], queued[i])
			compare(s, "a minute with 5,000 behind a pause", large, paused[0], paused[i])
			compare(s, "a delivery after a pause", large, drained[0], drained[i])
			compare(s, "a minute of failing destinations", large, failing[0], failing[i])
		}
	}
	return nil
}

// fill pauses the destinations and sends events until the backlog waits, and returns what queuing a delivery uses.
func (w *world) fill(ctx context.Context, destinations int) (usage, error) {
	if err := w.Lab.Exec(ctx, w.database, pause); err != nil {
		return usage{}, err
	}
	d := suite.Load(nil, suite.Firehose)
	d.Count = backlog / int64(destinations)
	return w.each(ctx, backlog, func() error {
		return errors.Join(w.send(ctx, d, 0), w.awaitRows(ctx, backlog, `SELECT count(*) FROM delivery_queue`))
	})
}
