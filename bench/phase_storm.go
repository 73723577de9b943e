package main

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
)

const stormTime = 3 * time.Second

// storesMayHear is the maximum number of transactions for each request of a storm: the process checks its own health meanwhile,
// a few times a second. stormFloor allows for the check of the ledger, which reads the database.
const (
	storesMayHear = 0.01
	stormFloor    = 200
)

// storm sends only forged signatures.
func storm(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		before, err := s.heard(ctx, node)
		if err != nil {
			return err
		}
		d := drive{nodes: []*lab.Node{node}}
		d.BadSignatures, d.Duration = 1, s.lasting(stormTime)
		got, err := s.drive(ctx, d)
		if err := errors.Join(err, allRefused(got.result)); err != nil {
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
		perRequest := float64(transactions) / float64(got.result.Requests)
		if perRequest > storesMayHear && transactions > stormFloor {
			return fmt.Errorf("%d transactions for %d forged requests", transactions, got.result.Requests)
		}
		s.charge("forged request", got.used, got.result.Requests)
		s.value("forged requests refused", "/s", nil, requestsPerSecond(got.result))
		s.value("transactions for each forged request", "", figures.AtMost(storesMayHear), perRequest)
		return s.takeProfile(ctx, "storm", d)
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

func (s *suite) heard(ctx context.Context, node *lab.Node) (h heard, err error) {
	if err := rest(ctx); err != nil { // the server reports transactions with a delay
		return h, err
	}
	if h.transactions, err = s.lab.Transactions(ctx, lab.ProductDatabase); err != nil {
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
