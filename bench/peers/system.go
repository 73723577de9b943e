package peers

import (
	"context"
)

// manyEndpoints is the number of endpoints in the fan-out case.
const manyEndpoints = 100

// system is one of the compared systems. It keeps its data while it is stopped.
type system interface {
	name() string
	// prepare creates databases and endpoints. It leaves the system running.
	prepare(ctx context.Context) error
	start(ctx context.Context) error
	stop() error
	// processes are all of them but PostgreSQL's.
	processes() []int
	// recover waits until the system works again, after all of its processes were killed.
	recover(ctx context.Context) error
	// sides are the ways of using it that are measured.
	sides() []side
}

// side is a way of using a system: a column of the table.
type side struct {
	name string
	// one and many receive an event for one endpoint, and for manyEndpoints.
	one, many target
	// events is the number of events of the load in a closed loop, and fanned that of the load to many endpoints: enough for
	// some seconds.
	events, fanned int64
	// ack says what stands behind an ACK.
	ack string
}

// target is where the load goes, and the load generator's definition for it.
type target struct{ provider, url string }

// endpointURL returns the URL of an endpoint at the arrivals server.
func (a *arrivals) endpointURL(name string) string { return a.url + "/" + name }
