package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
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
func queues(ctx context.Context, s *bench) (err error) {
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
	to := func(r *lab.Endpoint) outlet { return outlet{Endpoints: []*lab.Endpoint{r}, Each: 1} }
	return s.WithOutlet(ctx, "queue_ordinary", suite.Endpoints(1, ordinary), to(ordinary), func(plain *outlet) error {
		return s.WithOutlet(ctx, "queue_other", suite.Endpoints(1, other), to(other), func(other *outlet) error {
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

func (s *bench) fromEmptied(ctx context.Context, plain, other *outlet) error {
	const sideOrdinary, sideEmptied = "bulk event to an endpoint", "the same from a queue analyzed as empty"
	if err := s.Lab.Exec(ctx, other.Database, keepPages); err != nil {
		return err
	}
	emptied, first := s.Full(sideEmptied, other.Load(suite.Firehose)), true
	send := emptied.Measure
	emptied.Measure = func(ctx context.Context) (slice, error) {
		var isSo bool
		err := errors.Join(s.Lab.Exec(ctx, other.Database, analyzeEmpty), s.Lab.Ask(ctx, other.Database, &isSo, isEmptied))
		if err == nil && !isSo && !first { // before the warm-up the queue has no pages
			err = errors.New("the queue wasn't analyzed while it was empty")
		}
		first = false
		if err != nil {
			return slice{}, err
		}
		return send(ctx)
	}
	t, err := s.Alternate(ctx, s.Full(sideOrdinary, plain.Load(suite.Firehose)), emptied)
	if err != nil {
		return err
	}
	s.Samples("analyzed as empty / ordinary", "", figures.AtLeast(0.9), t.Ratios(sideEmptied, sideOrdinary, suite.RateOf))
	s.Samples("to an endpoint, analyzed as empty", "/s", nil, t.Values(sideEmptied, suite.RateOf))
	return nil
}

func (s *bench) afterPause(ctx context.Context, plain, other *outlet) error {
	const sideFew, sideMany = "deliveries after a pause, few waiting", "deliveries after a pause, many waiting"
	few, err := s.openWaiting(ctx, plain, inDrain)
	if err != nil {
		return err
	}
	defer few.store.Close()
	many, err := s.openWaiting(ctx, other, s.Scaled(manyWaiting)+inDrain)
	if err != nil {
		return err
	}
	defer many.store.Close()
	t, err := s.Alternate(ctx, few.side(sideFew), many.side(sideMany))
	if err != nil {
		return err
	}
	s.Samples("after a pause, 100,000 waiting / few", "", figures.AtLeast(0.9), t.Ratios(sideMany, sideFew, suite.RateOf))
	s.Samples("after a pause, 100,000 waiting", "/s", nil, t.Values(sideMany, suite.RateOf))
	s.Samples("after a pause, few waiting", "/s", nil, t.Values(sideFew, suite.RateOf))
	s.Phase.Checks = append(s.Phase.Checks, "each waiting delivery came once")
	return nil
}

// waiting are deliveries of an outlet behind a pause.
type waiting struct {
	outlet *outlet
	store  *persistence.Store
	wanted int64 // how many wait when a slice begins
}

func (s *bench) openWaiting(ctx context.Context, o *outlet, wanted int64) (*waiting, error) {
	store, err := persistence.Open(ctx, persistence.Config{
		URL: s.Lab.Postgres.URL(o.Database), ApplicationName: "bench", MaxConns: 1,
	})
	return &waiting{o, store, wanted}, err
}

func (w *waiting) set(ctx context.Context, state delivery.DestinationState) error {
	_, err := w.store.Subscriptions.SetDestinationState(ctx, "endpoint-0", state, suite.Bench)
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
		if err := w.outlet.Suite.Lab.Exec(ctx, w.outlet.Database, statement); err != nil {
			return err
		}
	}
	return nil
}

// side returns a side that resumes the destination, measures the first deliveries, and pauses it again.
func (w *waiting) side(name string) side {
	return side{Name: name, Measure: func(ctx context.Context) (one slice, err error) {
		s, r := w.outlet.Suite, w.outlet.Endpoints[0]
		err = errors.Join(w.set(ctx, delivery.DestinationPaused), suite.Rest(ctx), w.fill(ctx), suite.Rest(ctx))
		if err != nil {
			return one, err
		}
		r.Remember()
		before, _ := r.Count()
		sample := s.Lab.Meter.Sample()
		if err := w.set(ctx, delivery.DestinationReady); err != nil {
			return one, err
		}
		err = untilArrived(ctx, r, before+inDrain)
		n, _ := r.Count()
		used := s.Lab.Meter.Sample().CPU.Sub(sample.CPU)
		if err := errors.Join(err, w.set(ctx, delivery.DestinationPaused), suite.Rest(ctx)); err != nil {
			return one, err
		}
		after, _ := r.Count()
		arrived := r.Remember()
		if once := int64(len(arrived)); once != after-before {
			return one, fmt.Errorf("%d deliveries came, of %d events", after-before, once)
		}
		return slice{Rate: inDrain / timeOf(arrived, inDrain).Seconds(), Cost: suite.Cost(used, n-before)}, nil
	}}
}

// untilArrived waits for the request with the given number.
func untilArrived(ctx context.Context, r *lab.Endpoint, number int64) error {
	ctx, cancel := context.WithTimeout(ctx, suite.DrainLimit)
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
