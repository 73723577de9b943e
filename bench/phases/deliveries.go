package phases

import (
	"context"
	"errors"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/delivery"
	"holdfast/persistence"
)

// The sides with deliveries.
const (
	sideBulkTo  = "bulk event to an endpoint"
	sideOrdered = "bulk event to an endpoint, in the order of 256 keys"
	sideBulk100 = "bulk event to 100 endpoints"
	sidePacedTo = "event to an endpoint, at 47/s"
)

// manyEndpoints is the number of endpoints in the fan-out case.
const manyEndpoints = 100

// deliveries measures bulk events with and without deliveries, and how soon an event at a low rate is delivered.
func deliveries(ctx context.Context, s *bench) (err error) {
	one, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	many, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, many.Close()) }()
	return s.Serving(ctx, lab.ProductDatabase, func(plain *lab.Node) error {
		to := outlet{Endpoints: []*lab.Endpoint{one}, Each: 1}
		err := s.WithOutlet(ctx, "deliveries", suite.Endpoints(1, one), to, func(o *outlet) error {
			return s.WithOutlet(ctx, "ordered", suite.Ordered(one), to, func(ordered *outlet) error {
				return s.toEndpoint(ctx, plain, o, ordered)
			})
		})
		if err != nil {
			return err
		}
		to = outlet{Endpoints: []*lab.Endpoint{many}, Each: manyEndpoints}
		return s.WithOutlet(ctx, "fanout", suite.Endpoints(manyEndpoints, many), to, func(o *outlet) error {
			return s.toMany(ctx, o)
		})
	})
}

func (s *bench) toEndpoint(ctx context.Context, plain *lab.Node, o, ordered *outlet) error {
	paced := s.Paced(sidePacedTo, o.Load(suite.Stripe), o.Endpoints[0], func(path string) ([]float64, error) {
		return o.FromAck(ctx, path)
	})
	t, err := s.Alternate(ctx, s.Full(sideBulk, suite.Load(plain, suite.Firehose)),
		s.Full(sideBulkTo, o.Load(suite.Firehose)), s.Full(sideOrdered, ordered.Load(suite.Firehose)), paced)
	if err != nil {
		return err
	}
	s.Samples("ACK to POST p50 at 47/s", "ms", figures.AtMost(5), t.Values(sidePacedTo, done50))
	s.Samples("ACK to POST p99 at 47/s", "ms", figures.AtMost(15), t.Values(sidePacedTo, done99))
	s.Samples("bulk to an endpoint / bulk without", "", nil, t.Ratios(sideBulkTo, sideBulk, suite.RateOf))
	s.Samples("bulk to an endpoint, in the order of 256 keys / without", "", nil, t.Ratios(sideOrdered, sideBulkTo, suite.RateOf))
	s.Samples("CPU of an ordered delivery", "ms", nil, t.Differences(sideOrdered, sideBulk))
	s.Samples("CPU of a delivery", "ms", nil, t.Differences(sideBulkTo, sideBulk))
	s.Samples("bulk events to an endpoint", "/s", nil, t.Values(sideBulkTo, suite.RateOf))
	return s.TakeProfile(ctx, "deliveries", o.Load(suite.Firehose))
}

func (s *bench) toMany(ctx context.Context, o *outlet) error {
	t, err := s.Alternate(ctx, s.Full(sideBulk100, o.Load(suite.Firehose)))
	if err != nil {
		return err
	}
	rate := func(s *slice) float64 { return s.Rate * manyEndpoints }
	each := func(s *slice) float64 { return suite.CPUOf(s) / manyEndpoints }
	s.Samples("deliveries of 100 endpoints", "/s", nil, t.Values(sideBulk100, rate))
	s.Samples("CPU of a delivery, one of 100, with its share of the event", "ms", nil, t.Values(sideBulk100, each))
	return s.TakeProfile(ctx, "fanout", o.Load(suite.Firehose))
}

// handoff compares bulk events that start a workflow of the user with bare starts of it.
func handoff(ctx context.Context, s *bench) error {
	return s.WithOutlet(ctx, "handoff", suite.OwnWorkflows, outlet{Each: 1}, func(o *outlet) error { return s.toOwn(ctx, o) })
}

func (s *bench) toOwn(ctx context.Context, o *outlet) error {
	const sideOwn, sideStart = "bulk event to a workflow", "start of that workflow"
	return s.WithPart(ctx, suite.PartStarts, func(starts *part) error {
		t, err := s.Alternate(ctx, s.Full(sideOwn, o.Load(suite.Firehose)), s.Asked(sideStart, starts, 0))
		if err != nil {
			return err
		}
		s.Samples("events to a workflow / bare starts of it", "", nil, t.Ratios(sideOwn, sideStart, suite.RateOf))
		s.Samples("events to a workflow", "/s", nil, t.Values(sideOwn, suite.RateOf))
		return nil
	})
}

func done50(s *slice) float64 { return s.Done50 }

func done99(s *slice) float64 { return s.Done99 }

// The sides with queues, next to an endpoint.
const (
	sideBulkNATS  = "bulk event to a stream of NATS"
	sideBulkKafka = "bulk event to a topic of Kafka's stand-in"
)

// brokers compares bulk events to an endpoint with those to queues. All three destinations are in this process: a server of NATS
// with its stream in a file, and kfake, which keeps records in memory.
func brokers(ctx context.Context, s *bench) (err error) {
	one, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	url, stopNATS, err := lab.StartNATS(ctx)
	if err != nil {
		return err
	}
	defer stopNATS()
	stream := delivery.Destination{Name: "nats", NATS: &delivery.NATS{
		Connection: delivery.Connection{URL: url}, Stream: lab.QueueName, Subject: `"` + lab.QueueName + `"`,
	}}
	url, stopKafka, err := lab.StartKafka()
	if err != nil {
		return err
	}
	defer stopKafka()
	topic := delivery.Destination{Name: "kafka", Kafka: &delivery.Kafka{
		Connection: delivery.Connection{URL: url}, Topic: lab.QueueName, PartitionKey: ".event.id",
	}}
	to := outlet{Endpoints: []*lab.Endpoint{one}, Each: 1}
	return s.WithOutlet(ctx, "broker_http", suite.Endpoints(1, one), to, func(endpoint *outlet) error {
		return s.WithOutlet(ctx, "broker_nats", subscribeQueue(stream), outlet{Each: 1}, func(ofNATS *outlet) error {
			return s.WithOutlet(ctx, "broker_kafka", subscribeQueue(topic), outlet{Each: 1}, func(ofKafka *outlet) error {
				return s.toBrokers(ctx, endpoint, ofNATS, ofKafka)
			})
		})
	})
}

func (s *bench) toBrokers(ctx context.Context, endpoint, ofNATS, ofKafka *outlet) error {
	t, err := s.Alternate(ctx, s.Full(sideBulkTo, endpoint.Load(suite.Firehose)),
		s.Full(sideBulkNATS, ofNATS.Load(suite.Firehose)), s.Full(sideBulkKafka, ofKafka.Load(suite.Firehose)))
	if err != nil {
		return err
	}
	for _, side := range []string{sideBulkNATS, sideBulkKafka} {
		s.Samples(side+" / to an endpoint", "", nil, t.Ratios(side, sideBulkTo, suite.RateOf))
		s.Samples("CPU of a "+side+", more than to an endpoint", "ms", nil, t.Differences(side, sideBulkTo))
		s.Samples(side, "/s", nil, t.Values(side, suite.RateOf))
	}
	return nil
}

// queueInFlight is the max in flight of a queue, as of a benchmark's endpoint.
const queueInFlight = 64

func subscribeQueue(to delivery.Destination) func(context.Context, *persistence.Store) error {
	return func(ctx context.Context, store *persistence.Store) error {
		to.InFlight = queueInFlight
		return suite.Subscribe(ctx, store, to, delivery.Subscription{})
	}
}
