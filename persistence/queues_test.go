package persistence_test

import (
	"time"

	"holdfast/delivery"
	"holdfast/persistence/persistencetest"
)

// What the tests of packages outbox and subscriptions share with those here.

var became, each = persistencetest.Became, persistencetest.Each

func (d *database) destination(id int64, settings delivery.Destination) int64 {
	d.t.Helper()
	return d.shared().Destination(id, settings)
}

func (d *database) queue(destination int64, n int) []string {
	d.t.Helper()
	return d.shared().Queue(destination, n)
}

func (d *database) lease(limit, share int) []delivery.Job {
	d.t.Helper()
	return d.shared().Lease(limit, share)
}

func (d *database) settle(settled ...delivery.Outcome) []delivery.Transition {
	d.t.Helper()
	return d.shared().Settle(settled...)
}

func (d *database) passes(destination int64, span time.Duration) {
	d.t.Helper()
	d.shared().Passes(destination, span)
}

func (d *database) open(destination int64) int {
	d.t.Helper()
	return d.shared().Waiting(destination)
}

func (d *database) breakerOf(destination int64) string {
	d.t.Helper()
	return d.shared().BreakerOf(destination)
}

func (d *database) subscribe(name string, e delivery.Events) delivery.Subscription {
	d.t.Helper()
	return d.shared().Subscribe(name, e)
}

func (d *database) apply(s delivery.Subscription) delivery.Subscription {
	d.t.Helper()
	return d.shared().Apply(s)
}
