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
	"holdfast/loadgen"
)

const (
	stormTime = 3 * time.Second
	stormGoal = 30_000 // a second
)

// storesMayHear is how many transactions for each request a storm may cause: the process looks after its own health
// meanwhile, a few times a second. stormFloor is what the check of the ledger, which reads the database, may cause in a round.
const (
	storesMayHear = 0.01
	stormFloor    = 200
)

// stormRound are the answers of a turn, in a second.
type stormRound struct{ refuser, product float64 }

// storm sends nothing but forged signatures: to the ingress and, in turns, to a handler that refuses everything unread.
func storm(ctx context.Context, s *suite) error {
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		refuser, stop, err := s.startReceiver(ctx, partRefuser, lab.ProductDatabase)
		if err != nil {
			return err
		}
		err = s.stormRounds(ctx, node, refuser)
		return errors.Join(err, stop())
	})
}

func (s *suite) stormRounds(ctx context.Context, node *lab.Node, refuser string) error {
	before, err := s.heard(ctx, node)
	if err != nil {
		return err
	}
	var rounds []stormRound
	var requests int64
	for n := range s.rounds {
		base := drive{}
		base.Targets, base.BadSignatures, base.Duration = []string{refuser}, 1, s.lasting(stormTime)
		unread, err := s.send(ctx, base)
		if err != nil {
			return err
		}
		d := drive{nodes: []*lab.Node{node}}
		d.BadSignatures, d.Duration = 1, s.lasting(stormTime)
		if n == 0 {
			d.profile = s.phase.Name
		}
		got, err := s.drive(ctx, d)
		if err := errors.Join(err, allRefused(unread), allRefused(got.result)); err != nil {
			return err
		}
		requests += got.result.Requests
		rounds = append(rounds, stormRound{requestsPerSecond(unread), requestsPerSecond(got.result)})
		if n == 0 {
			s.charge("forged request", got.used, got.result.Requests)
		}
	}
	after, err := s.heard(ctx, node)
	if err != nil {
		return err
	}
	if after.starts != before.starts {
		return fmt.Errorf("forged requests have started %d workflows", after.starts-before.starts)
	}
	transactions := after.transactions - before.transactions
	perRequest := float64(transactions) / float64(requests)
	if perRequest > storesMayHear && transactions > int64(stormFloor*s.rounds) {
		return fmt.Errorf("%d transactions for %d forged requests", transactions, requests)
	}
	of := func(value func(stormRound) float64) []float64 { return each(rounds, value) }
	refused := of(func(r stormRound) float64 { return r.product })
	s.figure("forged requests refused", "/s", figures.AtLeast(stormGoal), refused...)
	s.perCeiling("forged requests refused", stormGoal, refused...)
	s.figure("refused by a handler that looks at nothing", "/s", nil, of(func(r stormRound) float64 { return r.refuser })...)
	s.figure("forged requests refused / by that handler", "", nil,
		of(func(r stormRound) float64 { return r.product / r.refuser })...)
	s.figure("transactions for each forged request", "", figures.AtMost(storesMayHear), perRequest)
	return nil
}

func requestsPerSecond(r loadgen.Result) float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

func allRefused(r loadgen.Result) error {
	if refused := r.Statuses[401]; refused != r.Requests || refused == 0 {
		return fmt.Errorf("of %d forged requests %d were refused with 401: %v", r.Requests, refused, r.Statuses)
	}
	return nil
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
