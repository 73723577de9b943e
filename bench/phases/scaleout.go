package phases

import (
	"context"
	"errors"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

// ownEvents is the slice size of a side with processes of its own, which start slowly.
const ownEvents = 500

// pooledSessions are the sessions of PgBouncer, for processes that would open about twenty each.
const pooledSessions = 10

// crew are the processes of one side.
type crew struct {
	name           string
	serve, workers int
	pooled         bool
}

// apart is the side that the others are compared with.
const apart = "event, 1 workers"

func crews() []crew {
	all := []crew{
		{name: "event, serve", serve: 1}, {name: "event, 2 serve", serve: 2},
		{name: apart, workers: 1}, {name: "event, 2 workers", workers: 2}, {name: "event, 4 workers", workers: 4},
	}
	if lab.HasPooler() {
		all = append(all, crew{name: "event, 2 workers by PgBouncer", workers: 2, pooled: true})
	}
	return all
}

// scaleOut runs one process for all roles, several of these, and the roles in separate processes: then no event is started
// eagerly, since its worker is in another process.
func scaleOut(ctx context.Context, s *bench) error {
	var sides []side
	// At 1 the machine is fully used, without the load generator: more processes only share it. It covers the time in which
	// events came, without the quiet before and after.
	busy := map[string][]float64{}
	for _, c := range crews() {
		sides = append(sides, side{Name: c.name, Measure: func(ctx context.Context) (slice, error) {
			got, err := s.withCrew(ctx, c)
			one := suite.SliceOf(got)
			if err == nil {
				busy[c.name] = append(busy[c.name], one.Rate*suite.Sum(one.Cost)/1000/float64(s.Cores()))
			}
			return one, err
		}})
	}
	t, err := s.Alternate(ctx, sides...)
	if err != nil {
		return err
	}
	for _, c := range crews() {
		name := c.name[len("event, "):]
		s.Samples(fmt.Sprintf("end to end, %s / 1 workers", name), "", nil, t.Ratios(c.name, apart, suite.RateOf))
		s.Samples(fmt.Sprintf("CPU of an event, %s / 1 workers", name), "", nil, t.Ratios(c.name, apart, suite.CPUOf))
		s.Samples("events end to end, "+name, "/s", nil, t.Values(c.name, suite.RateOf))
		s.Samples("share of the machine in use, "+name, "", nil, busy[c.name])
	}
	return nil
}

func (s *bench) withCrew(ctx context.Context, c crew) (got driven, err error) {
	var nodes []*lab.Node
	var pooler *lab.Pooler
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.Stop())
		}
		if pooler != nil {
			err = errors.Join(err, pooler.Stop())
		}
	}()
	product := lab.Product{Database: lab.ProductDatabase}
	if c.pooled {
		if pooler, err = s.Lab.StartPooler(ctx, lab.ProductDatabase, pooledSessions); err != nil {
			return got, err
		}
		product.Environ = []string{"DATABASE_URL=" + pooler.URL}
	}
	d := drive{}
	for _, role := range c.roles() {
		product.Role = role
		n, err := s.Lab.StartProduct(ctx, product)
		if err != nil {
			return got, err
		}
		if nodes = append(nodes, n); role != roleWorker {
			d.Targets = append(d.Targets, n.Ingress)
		}
	}
	d.Nodes = nodes
	warm := d
	warm.Count = s.Scaled(suite.WarmUpEvents)
	if _, err := s.Drive(ctx, warm); err != nil {
		return got, err
	}
	d.Count = s.Scaled(ownEvents)
	return s.Drive(ctx, d)
}

const roleWorker = "worker"

// roles returns the roles of the processes, in the order in which they start.
func (c crew) roles() (all []string) {
	for range c.workers {
		all = append(all, roleWorker)
	}
	for range c.serve {
		all = append(all, "serve")
	}
	if c.serve == 0 {
		all = append(all, "ingress")
	}
	return all
}
