package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/delivery"
	"holdfast/persistence"
)

const (
	// manyWaiting deliveries wait behind a pause, or only as many as a slice delivers.
	manyWaiting = 100_000
	inDrain     = 3000
)

// queues compares ordinary deliveries with those from a queue that was analyzed while it was empty, and those after a pause with
// many waiting.
func queues(ctx context.Context, s *suite) (err error) {
	ordinary, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ordinary.Close()) }()
	other, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	to := func(r *lab.Endpoint) outlet { return outlet{endpoints: []*lab.Endpoint{r}, each: 1} }
	return s.withOutlet(ctx, "queue_ordinary", endpoints(1, ordinary), to(ordinary), func(plain *outlet) error {
		return s.withOutlet(ctx, "queue_other", endpoints(1, other), to(other), func(other *outlet) error {
			if err := s.fromEmptied(ctx, plain, other); err != nil {
				return err
			}
			return s.afterPause(ctx, plain, other)
		})
	})
}

const (
	keepPages    = `ALTER TABLE delivery_queue SET (vacuum_truncate = off)`
	analyzeEmpty = `VACUUM (ANALYZE, TRUNCATE false) delivery_queue`
	isEmptied    = `SELECT reltuples = 0 AND relpages > 0 FROM pg_class WHERE oid = 'delivery_queue'::regclass`
)

func (s *suite) fromEmptied(ctx context.Context, plain, other *outlet) error {
	const sideOrdinary, sideEmptied = "bulk event to an endpoint", "the same from a queue analyzed as empty"
	if err := s.lab.Exec(ctx, other.database, keepPages); err != nil {
		return err
	}
	emptied, first := s.full(sideEmptied, other.load(firehose)), true
	send := emptied.measure
	emptied.measure = func(ctx context.Context) (slice, error) {
		var isSo bool
		err := errors.Join(s.lab.Exec(ctx, other.database, analyzeEmpty), s.lab.Ask(ctx, other.database, &isSo, isEmptied))
		if err == nil && !isSo && !first { // before the warm-up the queue has no pages
			err = errors.New("the queue wasn't analyzed while it was empty")
		}
		first = false
		if err != nil {
			return slice{}, err
		}
		return send(ctx)
	}
	t, err := s.alternate(ctx, s.full(sideOrdinary, plain.load(firehose)), emptied)
	if err != nil {
		return err
	}
	s.samples("analyzed as empty / ordinary", "", figures.AtLeast(0.9), t.ratios(sideEmptied, sideOrdinary, rateOf))
	s.samples("to an endpoint, analyzed as empty", "/s", nil, t.values(sideEmptied, rateOf))
	return nil
}

func (s *suite) afterPause(ctx context.Context, plain, other *outlet) error {
	const sideFew, sideMany = "deliveries after a pause, few waiting", "deliveries after a pause, many waiting"
	few, err := s.openWaiting(ctx, plain, inDrain)
	if err != nil {
		return err
	}
	defer few.store.Close()
	many, err := s.openWaiting(ctx, other, s.scaled(manyWaiting)+inDrain)
	if err != nil {
		return err
	}
	defer many.store.Close()
	t, err := s.alternate(ctx, few.side(sideFew), many.side(sideMany))
	if err != nil {
		return err
	}
	s.samples("after a pause, 100,000 waiting / few", "", figures.AtLeast(0.9), t.ratios(sideMany, sideFew, rateOf))
	s.samples("after a pause, 100,000 waiting", "/s", nil, t.values(sideMany, rateOf))
	s.samples("after a pause, few waiting", "/s", nil, t.values(sideFew, rateOf))
	s.phase.Checks = append(s.phase.Checks, "each waiting delivery came once")
	return nil
}

// waiting are deliveries of an outlet behind a pause.
type waiting struct {
	outlet *outlet
	store  *persistence.Store
	wanted int64 // how many wait when a slice begins
}

func (s *suite) openWaiting(ctx context.Context, o *outlet, wanted int64) (*waiting, error) {
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.lab.Postgres.URL(o.database), ApplicationName: "bench", MaxConns: 1,
	})
	return &waiting{o, store, wanted}, err
}

func (w *waiting) set(ctx context.Context, state delivery.DestinationState) error {
	_, err := w.store.Subscriptions.SetDestinationState(ctx, "endpoint-0", state, bench)
	return err
}

// fillWaiting adds events with a delivery each until as many wait as are wanted. Their IDs rise by a millisecond each, like those
// of a thousand events a second, so that the first deliveries are on few pages.
//
//nolint:dupword // columns may have the same value
const fillWaiting = `
WITH more AS (
     SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 200000 + i), 12, '0') || '7000' || '8'
            || substr(md5(random()::text || i), 1, 15))::uuid AS id
       FROM generate_series(1, %d - (SELECT count(*) FROM delivery_queue)) AS i
), stored AS (
     INSERT INTO events (id, provider, source, key, key_from, type, status, outcome, raw_body, headers, receipt, payload,
            payload_note, occurred_at, occurred_at_missing, received_at, persisted_at, processed_at, workflow_id, run_id,
            request_id, correlation_id)
     SELECT id, 'firehose', '', id::text, 'event', 'customer.updated', 'processed', 'processed', convert_to(body, 'UTF8'), '{}',
            json_build_object('id', id, 'provider', 'firehose', 'key', id::text), body::jsonb, '',
            now(), false, now(), now(), now(), 'firehose:' || id, gen_random_uuid()::text, gen_random_uuid()::text, ''
       FROM more, LATERAL (
            SELECT json_build_object('id', id, 'type', 'customer.updated', 'padding', repeat('x', 500))::text) AS b (body))
INSERT INTO delivery_queue (event_id, subscription_id, destination_id)
SELECT more.id, s.id, s.destination_id FROM more, subscriptions AS s`

// fill also vacuums, which the server would do in the background while it is measured.
func (w *waiting) fill(ctx context.Context) error {
	for _, statement := range []string{fmt.Sprintf(fillWaiting, w.wanted), `VACUUM (ANALYZE)`} {
		if err := w.outlet.suite.lab.Exec(ctx, w.outlet.database, statement); err != nil {
			return err
		}
	}
	return nil
}

// side returns a side that resumes the destination, measures the first deliveries, and pauses it again.
func (w *waiting) side(name string) side {
	return side{name, func(ctx context.Context) (one slice, err error) {
		s, r := w.outlet.suite, w.outlet.endpoints[0]
		err = errors.Join(w.set(ctx, delivery.DestinationPaused), rest(ctx), w.fill(ctx), rest(ctx))
		if err != nil {
			return one, err
		}
		r.Remember()
		before, _ := r.Count()
		sample := s.lab.Meter.Sample()
		if err := w.set(ctx, delivery.DestinationReady); err != nil {
			return one, err
		}
		err = untilArrived(ctx, r, before+inDrain)
		n, _ := r.Count()
		used := s.lab.Meter.Sample().CPU.Sub(sample.CPU)
		if err := errors.Join(err, w.set(ctx, delivery.DestinationPaused), rest(ctx)); err != nil {
			return one, err
		}
		after, _ := r.Count()
		arrived := r.Remember()
		if once := int64(len(arrived)); once != after-before {
			return one, fmt.Errorf("%d deliveries came, of %d events", after-before, once)
		}
		return slice{rate: inDrain / timeOf(arrived, inDrain).Seconds(), cost: cost(used, n-before)}, nil
	}}
}

// untilArrived waits for the request with the given number.
func untilArrived(ctx context.Context, r *lab.Endpoint, number int64) error {
	ctx, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	for n, _ := r.Count(); n < number; n, _ = r.Count() {
		select {
		case <-r.More():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// timeOf returns the time from the first arrival to the nth.
func timeOf(arrived map[string]time.Time, n int) time.Duration {
	at := slices.SortedFunc(maps.Values(arrived), time.Time.Compare)
	return at[n-1].Sub(at[0])
}
