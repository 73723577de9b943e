package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	// bodiesRate is the rate of small events in the latency phase.
	bodiesRate = 47
	bodiesTime = time.Minute
	// bodyMemory is the default of HOLDFAST_INGRESS_BODY_MEMORY, and decodedTimes what the largest body takes while it is decoded.
	bodyMemory, decodedTimes = 256 << 20, 7
	// highestServe is the goal of the memory phase, in MiB.
	highestServe = 150
	// storedLimit bounds the wait for the last large event.
	storedLimit = 10 * time.Minute
)

// bodies measures the memory of a separate ingress and worker while 500 senders send bodies of 25 MiB, and what that does to
// small events.
func bodies(ctx context.Context, s *bench) (err error) {
	nodes := map[string]*lab.Node{}
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.Stop())
		}
	}()
	for _, role := range []string{roleIngress, roleWorker} {
		if nodes[role], err = s.Lab.StartProduct(ctx, lab.Product{Role: role, Database: lab.ProductDatabase}); err != nil {
			delete(nodes, role)
			return err
		}
	}
	return s.withBodies(ctx, nodes)
}

const roleIngress = "ingress"

func (s *bench) withBodies(ctx context.Context, nodes map[string]*lab.Node) error {
	d := drive{Nodes: []*lab.Node{nodes[roleIngress]}}
	warm := d
	warm.Count, warm.Rate = suite.WarmUpEvents, bodiesRate
	warmed, err := s.Send(ctx, warm)
	if err != nil {
		return err
	}
	d.Rate, d.Duration, d.Connections = bodiesRate, s.Lasting(bodiesTime), 64
	alone, err := s.Send(ctx, d)
	if err != nil {
		return err
	}
	if err := s.peaks(nodes, ", small events only", nil); err != nil {
		return err
	}
	crowd := suite.StartCrowd(ctx, nodes[roleIngress].Ingress)
	loaded, err := s.Send(ctx, d)
	statuses := crowd.Stop()
	if err != nil {
		return err
	}
	if err := s.awaitStored(ctx, warmed.OK+alone.OK+loaded.OK+int64(statuses[http.StatusAccepted])); err != nil {
		return err
	}
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		name := fmt.Sprintf("answers %d to bodies of 25 MiB", status)
		if status == 0 {
			name = "bodies of 25 MiB whose connection ended without an answer"
		}
		s.Value(name, "", nil, float64(statuses[status]))
	}
	if err := s.peaks(nodes, "", figures.AtMost(suite.Mebibytes(bodyMemory+decodedTimes*suite.LargeBody)+highestServe)); err != nil {
		return err
	}
	s.Value("ACK p99 of small events, alone", "ms", nil, suite.Milliseconds(alone.Latency.P99))
	s.Value("ACK p99 of small events, next to large ones", "ms", nil, suite.Milliseconds(loaded.Latency.P99))
	s.Value("small events refused, next to large ones", "", figures.AtMost(0), float64(loaded.Requests-loaded.OK))
	return nil
}

func (s *bench) peaks(nodes map[string]*lab.Node, when string, goal *figures.Goal) error {
	for _, role := range slices.Sorted(maps.Keys(nodes)) {
		peak, err := nodes[role].Peak()
		if err != nil {
			return err
		}
		s.Value("peak memory of the "+role+when, "MiB", goal, suite.Mebibytes(peak))
	}
	return nil
}

// awaitStored waits until as many events are processed as were accepted, and the inbox is empty.
func (s *bench) awaitStored(ctx context.Context, accepted int64) error {
	ctx, cancel := context.WithTimeout(ctx, storedLimit)
	defer cancel()
	return lab.Poll(ctx, func() (bool, error) {
		var left int64
		err := s.Lab.Ask(ctx, lab.ProductDatabase, &left, `
SELECT (SELECT count(*) FROM inbox) + greatest($1 - (SELECT count(*) FROM events WHERE status = 'processed'), 0)`, accepted)
		return left == 0, err
	})
}
