package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const stormTime = 6 * time.Second

// storesMayHear is how many transactions for each request a storm may cause: the process looks after its own health
// meanwhile, a few times a second.
const storesMayHear = 0.01

// storm sends nothing but forged signatures.
func storm(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		before, err := s.heard(ctx, node)
		if err != nil {
			return err
		}
		d := drive{nodes: []*lab.Node{node}, profile: s.phase.Name}
		d.BadSignatures, d.Duration = 1, s.lasting(stormTime)
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		after, err := s.heard(ctx, node)
		if err != nil {
			return err
		}
		if refused := got.result.Statuses[401]; refused != got.result.Requests || refused == 0 {
			return fmt.Errorf("of %d forged requests %d were refused with 401: %v", got.result.Requests, refused, got.result.Statuses)
		}
		if after.starts != before.starts {
			return fmt.Errorf("forged requests have started %d workflows", after.starts-before.starts)
		}
		// The check of the ledger reads the database as well: it is less than a hundred statements.
		perRequest := float64(after.transactions-before.transactions) / float64(got.result.Requests)
		if perRequest > storesMayHear && after.transactions-before.transactions > 200 {
			return fmt.Errorf("%d transactions for %d forged requests", after.transactions-before.transactions, got.result.Requests)
		}
		rate := float64(got.result.Requests) / got.result.Elapsed.Seconds()
		s.figure("forged requests refused", "/s", figures.AtLeast(30_000), rate)
		s.figure("transactions for each forged request", "", figures.AtMost(storesMayHear), perRequest)
		s.charge("forged request", got.used, got.result.Requests)
		s.plotLatency("401", got.result)
		return nil
	})
}

// heard is what the stores were asked so far.
type heard struct{ transactions, starts int64 }

var startsSeries = regexp.MustCompile(`(?m)^temporal_request_total\{[^}]*operation="StartWorkflowExecution"[^}]*\} (\S+)$`)

func (s *suite) heard(ctx context.Context, node *lab.Node) (h heard, err error) {
	if err := rest(ctx); err != nil { // the server tells of transactions with a delay
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
