package suite

import (
	"context"
	"time"
)

const (
	overloadTime   = 6 * time.Second
	overloadFactor = 2
	// overloadConnections are more than can wait for half a second each.
	overloadConnections = 1024
	// probeEvents are used to measure the rate to overload.
	probeEvents = 1000
)

// Probe measures the rate of processed events at full load, per second.
func (s *Suite) Probe(ctx context.Context, d Drive) (float64, error) {
	d.Count = s.Scaled(probeEvents)
	got, err := s.Drive(ctx, d)
	return got.PerSecond(), err
}

// Overload sends twice a rate, which must all be accepted.
func (s *Suite) Overload(ctx context.Context, d Drive, rate float64) (got Driven, err error) {
	d.Rate, d.Duration, d.Connections = overloadFactor*rate, s.Lasting(overloadTime), overloadConnections
	if got, err = s.Drive(ctx, d); err == nil {
		err = AllAccepted(got.Result)
	}
	return got, err
}

// SpooledShare returns the share of requests that the inbox acknowledged.
func (d Driven) SpooledShare() float64 {
	return float64(d.Result.Spooled) / float64(max(d.Result.OK, 1))
}
