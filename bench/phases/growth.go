package phases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/delivery"
	"holdfast/persistence"
)

// The two installations have had the same load, one a hundred times as long as the other.
const (
	growthEvents   = 10_000_000
	growthEntities = 1_000_000
	growthShorter  = 100
	growthDays     = 30 // of the longer one

	smallDatabase = "growth_small"
	fullDatabase  = "growth_full"
)

// What a run needs on the disk: the rows of an event with their indexes, and the log, Temporal's databases and sorts.
const (
	growthEventBytes = 4_000
	growthOtherBytes = 6 << 30
)

func growth(ctx context.Context, s *bench) (err error) {
	full := lab.Past{Events: int(s.Scaled(growthEvents)), Entities: int(s.Scaled(growthEntities))}
	full.Every = (growthDays * day / time.Duration(full.Events)).Truncate(time.Microsecond)
	full.KeysLast = (growthDays + purgedDays + 1) * day
	full.Begins = time.Now().Add(-(growthDays + purgedDays) * day).Truncate(time.Millisecond)
	small := full
	small.Events, small.Entities = max(full.Events/growthShorter, 1), max(full.Entities/growthShorter, 1)
	small.Recent, full.Recent = small.Events, small.Events
	small.Begins = full.At(full.Events - small.Events)
	if err := s.findRoom(full); err != nil {
		return err
	}
	endpoint, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endpoint.Close()) }()
	for database, h := range map[string]lab.Past{smallDatabase: small, fullDatabase: full} {
		if err := s.fill(ctx, database, h, endpoint); err != nil {
			return err
		}
	}
	if err := s.comparePagesOfEvents(ctx, small, full); err != nil {
		return err
	}
	return s.servingGrown(ctx, endpoint, func(small, grown *outlet) error {
		if err := s.comparePagesOfLists(ctx, small, grown, full); err != nil {
			return err
		}
		if err := s.compareGrown(ctx, small, grown); err != nil {
			return err
		}
		return s.retain(ctx, grown, full)
	})
}

// findRoom fails unless the disk can hold what the phase stores.
func (s *bench) findRoom(h lab.Past) error {
	needed := int64(h.Events)*growthEventBytes + growthOtherBytes
	free, err := lab.FreeBytes(s.Dir)
	if err != nil {
		return err
	}
	s.Say("  %d events, %d entities and as many deliveries as events need %d GB of disk; %d GB are free",
		h.Events, h.Entities, needed>>30, free>>30)
	if free < needed {
		return fmt.Errorf("%d GB of disk are needed and %d GB are free: choose fewer events with --scale", needed>>30, free>>30)
	}
	return nil
}

// fill creates a product's database with a history. Its first subscription gets every event; the second one, whose destination is
// paused, gets none of the new ones.
func (s *bench) fill(ctx context.Context, database string, h lab.Past, to *lab.Endpoint) error {
	s.Say("  storing %d events, their deliveries and %d entities", h.Events, h.Entities)
	if err := errors.Join(s.Lab.Migrate(ctx, database), s.Lab.CountPages(ctx, database)); err != nil {
		return err
	}
	store, err := s.openStore(database)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := suite.Endpoints(1, to)(ctx, store); err != nil {
		return err
	}
	paused := delivery.Destination{Name: "paused", HTTP: &delivery.HTTP{URL: to.URL}}
	none := delivery.Subscription{Events: delivery.Events{Types: []string{"none"}}}
	if err := suite.Subscribe(ctx, store, paused, none); err != nil {
		return err
	}
	if _, err := store.Subscriptions.SetDestinationState(ctx, paused.Name, delivery.DestinationPaused, suite.Bench); err != nil {
		return err
	}
	before, err := s.Lab.Size(ctx, database)
	if err != nil {
		return err
	}
	if err := s.Lab.Fill(ctx, database, h); err != nil {
		return err
	}
	after, err := s.Lab.Size(ctx, database)
	if database == fullDatabase {
		s.Value("bytes an event and its delivery, in our tables and indexes", "B", nil, float64(after-before)/float64(h.Events))
	}
	return err
}

func (s *bench) openStore(database string) (*persistence.Store, error) {
	return persistence.Open(context.Background(), persistence.Config{
		URL: s.Lab.Postgres.URL(database), ApplicationName: "bench", MaxConns: 2,
	})
}

// servingGrown runs f with a product on each database.
func (s *bench) servingGrown(ctx context.Context, to *lab.Endpoint, f func(small, grown *outlet) error) error {
	serving := func(database string, f func(*outlet) error) error {
		return s.Serving(ctx, database, func(node *lab.Node) error {
			return f(&outlet{Suite: s.Suite, Database: database, Node: node, Endpoints: []*lab.Endpoint{to}, Each: 1})
		})
	}
	return serving(smallDatabase, func(small *outlet) error {
		return serving(fullDatabase, func(grown *outlet) error { return f(small, grown) })
	})
}

// compareGrown alternates between the two products. Each slice waits for the delayed work of the one before.
func (s *bench) compareGrown(ctx context.Context, small, grown *outlet) error {
	before, err := s.temporalHas(ctx, small.Node, grown.Node)
	if err != nil {
		return err
	}
	few, many := small.Load(suite.Stripe), grown.Load(suite.Stripe)
	// Both are charged for what idle servers use, since a fresh database isn't idle yet.
	few.Idle, many.Idle = suite.Idle{}, suite.Idle{}
	t, err := s.Alternate(ctx, s.Full(smallDatabase, few), s.Full(fullDatabase, many))
	if err != nil {
		return err
	}
	s.Samples("events delivered, full / small database", "", figures.AtLeast(0.9),
		t.Ratios(fullDatabase, smallDatabase, suite.RateOf))
	s.Samples("CPU of an event, full / small database", "", nil, t.Ratios(fullDatabase, smallDatabase, suite.CPUOf))
	s.Samples("events delivered, small database", "/s", nil, t.Values(smallDatabase, suite.RateOf))
	s.Samples("events delivered, full database", "/s", nil, t.Values(fullDatabase, suite.RateOf))
	after, err := s.temporalHas(ctx, small.Node, grown.Node)
	s.Value("bytes an event, in Temporal's tables and indexes", "B", nil,
		float64(after.bytes-before.bytes)/float64(max(after.events-before.events, 1)))
	return err
}

// kept measures what Temporal stores of the finished events of some processes.
type kept struct{ bytes, events int64 }

func (s *bench) temporalHas(ctx context.Context, nodes ...*lab.Node) (k kept, err error) {
	if k.events, err = suite.Processed(ctx, nodes); err != nil {
		return k, err
	}
	k.bytes, err = s.Lab.TemporalSize(ctx)
	return k, err
}
