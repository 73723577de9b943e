package phases

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
	"holdfast/bench/suite"
)

const stormTime = 3 * time.Second

// storesMayHear is the maximum number of transactions for each request of a storm: the process checks its own health meanwhile,
// a few times a second. stormFloor allows for the check of the ledger, which reads the database.
const (
	storesMayHear = 0.01
	stormFloor    = 200
)

// storm sends only forged signatures.
func storm(ctx context.Context, s *bench) error {
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		before, err := s.heard(ctx, node)
		if err != nil {
			return err
		}
		d := drive{Nodes: []*lab.Node{node}}
		d.BadSignatures, d.Duration = 1, s.Lasting(stormTime)
		got, err := s.Drive(ctx, d)
		if err := errors.Join(err, allRefused(got.Result)); err != nil {
			return err
		}
		after, err := s.heard(ctx, node)
		if err != nil {
			return err
		}
		if after.starts != before.starts {
			return fmt.Errorf("forged requests have started %d workflows", after.starts-before.starts)
		}
		transactions := after.transactions - before.transactions
		perRequest := float64(transactions) / float64(got.Result.Requests)
		if perRequest > storesMayHear && transactions > stormFloor {
			return fmt.Errorf("%d transactions for %d forged requests", transactions, got.Result.Requests)
		}
		s.Charge("forged request", got.Used, got.Result.Requests)
		s.Value("forged requests refused", "/s", nil, requestsPerSecond(got.Result))
		s.Value("transactions for each forged request", "", figures.AtMost(storesMayHear), perRequest)
		return s.TakeProfile(ctx, "storm", d)
	})
}

func requestsPerSecond(r loadgen.Result) float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

func allRefused(r loadgen.Result) error {
	if refused := r.Statuses[401]; refused != r.Requests || refused == 0 {
		return fmt.Errorf("of %d forged requests %d were refused with 401: %v", r.Requests, refused, r.Statuses)
	}
	return nil
}

// heard counts the calls to the stores so far.
type heard struct{ transactions, starts int64 }

var startsSeries = regexp.MustCompile(`(?m)^temporal_request_total\{[^}]*operation="StartWorkflowExecution"[^}]*\} (\S+)$`)

func (s *bench) heard(ctx context.Context, node *lab.Node) (h heard, err error) {
	if err := suite.Rest(ctx); err != nil { // the server reports transactions with a delay
		return h, err
	}
	if h.transactions, err = s.Lab.Transactions(ctx, lab.ProductDatabase); err != nil {
		return h, err
	}
	page, err := node.Get(ctx, node.Operator+"/metrics")
	if err != nil {
		return h, err
	}
	for _, series := range startsSeries.FindAllSubmatch(page, -1) {
		v, err := strconv.ParseFloat(string(series[1]), 64)
		if err != nil {
			return h, err
		}
		h.starts += int64(v)
	}
	if h.starts == 0 {
		return h, fmt.Errorf("the warm-up has started workflows, and %s does not count them", node.Operator)
	}
	return h, nil
}
