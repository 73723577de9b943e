package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

// The round in which everything is killed.
const (
	crashRate  = 100
	crashLoad  = 10 * time.Second
	crashAfter = 3 * time.Second
	// backLimit bounds the restart, and recoveryLimit the wait for what was acknowledged.
	backLimit     = 90 * time.Second
	recoveryLimit = 2 * time.Minute
	// doubles is how long surplus deliveries may come after everything has arrived.
	doubles = 5 * time.Second
)

// crash sends a load, kills all processes of the system and PostgreSQL in the middle of it, and counts what arrives in the end.
// Requests that aren't acknowledged aren't sent again.
func (r *runner) crash(ctx context.Context, s system, side side) (o outcome, err error) {
	if err := r.warmUp(ctx, side); err != nil {
		return o, err
	}
	r.arrivals.reset()
	crashed := make(chan error, 1)
	go func() { crashed <- r.killAndRecover(ctx, s) }()
	acked, err := r.send(ctx, side.one, func(o *loadgen.Options) { o.Rate, o.Duration = crashRate, crashLoad })
	if err := errors.Join(err, <-crashed); err != nil {
		return o, err
	}
	limited, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	// What doesn't arrive until the limit counts as lost.
	_ = lab.Poll(limited, func() (bool, error) {
		o = r.arrivals.compare(acked)
		return o.Lost == 0, nil
	})
	err = sleep(ctx, doubles)
	return r.arrivals.compare(acked), err
}

func (r *runner) killAndRecover(ctx context.Context, s system) error {
	if err := sleep(ctx, crashAfter); err != nil {
		return err
	}
	if err := killEverything(s, r.lab); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, backLimit)
	defer cancel()
	err := lab.Poll(ctx, func() (bool, error) { return r.lab.Postgres.Ping(ctx) == nil, nil })
	if err != nil {
		return fmt.Errorf("wait for PostgreSQL: %w", err)
	}
	return s.recover(ctx)
}
