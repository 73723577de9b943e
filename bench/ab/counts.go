package ab

import (
	"context"
	"errors"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	// countRounds is how often each build is counted, and restTime how long at rest: the kernel counts CPU in hundredths of
	// seconds.
	countRounds = 4
	restTime    = 30 * time.Second
	// countLag is longer than an idle connection of PostgreSQL keeps its counts to itself.
	countLag  = 12 * time.Second
	countTime = 10 * time.Second
)

// total is what a build has used since its servers started.
type total struct {
	at                            time.Time
	statements, transactions, wal int64         // the WAL is that of all databases
	cpu                           time.Duration // of its process and its database
}

// count returns the total once PostgreSQL has all counts.
func (b *build) count(ctx context.Context) (t total, err error) {
	if err := suite.Pause(ctx, countLag); err != nil {
		return t, err
	}
	database := b.product.Database
	t.at = time.Now()
	used := b.suite.Lab.Meter.Sample().CPU
	t.cpu = used[b.product.Label] + used[lab.DatabaseLabel(database)]
	if t.statements, err = b.suite.Lab.Statements(ctx, database); err != nil {
		return t, err
	}
	if t.transactions, err = b.suite.Lab.Transactions(ctx, database); err != nil {
		return t, err
	}
	t.wal, err = b.suite.Lab.WAL(ctx)
	return t, err
}

// The figures of one round. The first three are of a delivered event, without what the build uses at rest in the same time; the
// others are of a minute at rest.
const (
	ofStatements = iota
	ofTransactions
	ofWAL
	ofStatementsAtRest
	ofTransactionsAtRest
	ofCPUAtRest
	countedFigures
)

var countedNames = [countedFigures]struct {
	name, unit string
	goal       *figures.Goal
}{
	ofStatements:         {"statements of a delivered event", "", figures.AtMost(0.6)},
	ofTransactions:       {"transactions of a delivered event", "", figures.AtMost(0.6)},
	ofWAL:                {"WAL of a delivered event, all databases", "B", figures.AtMost(0.8)},
	ofStatementsAtRest:   {"statements at rest", "/min", nil},
	ofTransactionsAtRest: {"transactions at rest", "/min", nil},
	ofCPUAtRest:          {"CPU of serve and its database at rest", "s/min", figures.AtMost(0.8)},
}

// round counts a build at rest, and then with events at the low rate.
func (b *build) round(ctx context.Context) (all [countedFigures]float64, err error) {
	begun, err := b.count(ctx)
	if err != nil {
		return all, err
	}
	if err := suite.Pause(ctx, b.suite.Lasting(restTime)); err != nil {
		return all, err
	}
	rested, err := b.count(ctx)
	if err != nil {
		return all, err
	}
	d := b.load(suite.Stripe)
	d.Rate, d.Duration = suite.LowRate, b.suite.Lasting(countTime)
	got, err := b.suite.Drive(ctx, d)
	if err != nil {
		return all, err
	}
	ended, err := b.count(ctx)
	if err != nil {
		return all, err
	}
	rest := rested.at.Sub(begun.at)
	share := float64(ended.at.Sub(rested.at)) / float64(rest)
	each := func(begun, rested, ended int64) float64 {
		return (float64(ended-rested) - float64(rested-begun)*share) / float64(got.Result.Events)
	}
	perMinute := float64(time.Minute) / float64(rest)
	return [countedFigures]float64{
		ofStatements:         each(begun.statements, rested.statements, ended.statements),
		ofTransactions:       each(begun.transactions, rested.transactions, ended.transactions),
		ofWAL:                each(begun.wal, rested.wal, ended.wal),
		ofStatementsAtRest:   float64(rested.statements-begun.statements) * perMinute,
		ofTransactionsAtRest: float64(rested.transactions-begun.transactions) * perMinute,
		ofCPUAtRest:          (rested.cpu - begun.cpu).Seconds() * perMinute,
	}, nil
}

func counts(ctx context.Context, s *suite.Suite) error {
	return both(ctx, s, needs{database: "counts", delivers: true, counts: true}, func(p *pair) error {
		if err := s.Lab.OmitPageImages(ctx); err != nil {
			return err
		}
		var now, before [countedFigures][]float64
		for range countRounds {
			a, failed := p.now.round(ctx)
			b, err := p.before.round(ctx)
			if err = errors.Join(failed, err); err != nil {
				return err
			}
			for i := range countedFigures {
				now[i], before[i] = append(now[i], a[i]), append(before[i], b[i])
			}
		}
		for i, f := range countedNames {
			s.Value(f.name, "", f.goal, figures.Median(now[i])/figures.Median(before[i]))
			s.Samples(sideOf(f.name, p.now), f.unit, nil, now[i])
			s.Samples(sideOf(f.name, p.before), f.unit, nil, before[i])
		}
		return nil
	})
}
