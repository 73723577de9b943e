package process

import (
	"context"
	"errors"
)

// prepare starts, in the background, what may have to wait for its stores: workers and the drain. An ingress serves without
// them, since it needs only one of the stores.
func (p *process) prepare(ctx context.Context, roles Roles) <-chan error {
	ctx, cancel := context.WithCancel(ctx)
	ready, done := make(chan error, 1), make(chan struct{})
	if roles.has(RoleWorker) {
		p.startCounters()
	}
	p.onStop("workers and drain", func(stopping context.Context) error {
		cancel()
		<-done
		var err error
		if p.drain != nil {
			err = p.drain.Stop(stopping)
		}
		if p.bulkStarter != nil {
			p.bulkStarter.Stop()
		}
		stopAll(p.workers) // events they still process are delivered here, or by other processes
		return errors.Join(err, p.stopDispatcher(stopping))
	})
	go func() {
		defer close(done)
		ready <- p.startBackground(ctx, roles)
	}()
	return ready
}

func (p *process) startBackground(ctx context.Context, roles Roles) error {
	if roles.needsDatabase() {
		if err := p.requireMigrations(ctx); err != nil {
			return err
		}
	}
	if roles.has(RoleWorker) {
		if err := p.startDispatcher(); err != nil {
			return err
		}
		if err := p.startWorkers(ctx); err != nil {
			return err
		}
		p.bulkStarter.Start()
	}
	if roles.has(RoleIngress | RoleWorker) {
		p.startDrain()
	}
	return nil
}

// report ends the process if a background start has failed, unless the process is already ending.
func (p *process) report(ctx context.Context, ready <-chan error) {
	if err := <-ready; err != nil && ctx.Err() == nil {
		p.failed <- err
	}
}
