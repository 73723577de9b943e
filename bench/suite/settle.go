package suite

import (
	"context"
	"time"

	"holdfast/bench/lab"
)

// settled is how long after the last event, or the last timer, the servers are still charged for it.
const settled = time.Second

// IdleTime is how long the idle servers are measured.
const IdleTime = 10 * time.Second

// Rest waits until the servers are no longer charged for the last event.
func Rest(ctx context.Context) error { return Pause(ctx, settled) }

// Pause waits for a time, or until the context ends.
func Pause(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Idle is the servers' use of resources in a second without any load.
type Idle map[string]float64

// Used returns the usage since a sample once the servers have settled. If their idle usage is known, it waits until the timers of
// workflow tasks have fired, and leaves out what the servers would have used in that time anyway.
func (s *Suite) Used(ctx context.Context, before lab.Sample, i Idle) (after lab.Sample, used lab.Usage, err error) {
	begun := time.Now()
	length := settled
	if i != nil {
		timers, err := s.Lab.UntilTimers(ctx)
		if err != nil {
			return after, nil, err
		}
		length += timers
	}
	if err := Pause(ctx, length); err != nil {
		return after, nil, err
	}
	after = s.Lab.Meter.Sample()
	return after, i.leaveOut(after.CPU.Sub(before.CPU), after.At.Sub(begun)), nil
}

// leaveOut subtracts what idle servers use in a time.
func (i Idle) leaveOut(used lab.Usage, length time.Duration) lab.Usage {
	for label, each := range i {
		used[label] = max(used[label]-time.Duration(each*float64(length)), 0)
	}
	return used
}

// MeasureIdle waits until no timer of a workflow task is pending, and measures the servers without load.
func (s *Suite) MeasureIdle(ctx context.Context, length time.Duration) (Idle, lab.Usage, error) {
	_, _, err := s.Used(ctx, s.Lab.Meter.Sample(), Idle{})
	if err != nil {
		return nil, nil, err
	}
	before := s.Lab.Meter.Sample()
	if err := Pause(ctx, length); err != nil {
		return nil, nil, err
	}
	after := s.Lab.Meter.Sample()
	used, each := after.CPU.Sub(before.CPU), Idle{}
	for label, d := range used {
		if label != lab.LabelLoad {
			each[label] = float64(d) / float64(after.At.Sub(before.At))
		}
	}
	return each, used, nil
}
