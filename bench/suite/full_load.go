package suite

import (
	"context"
	"fmt"

	"holdfast/bench/lab"
	"holdfast/bench/loadgen"
)

// Load returns the load of a provider on a node.
func Load(node *lab.Node, provider string) Drive {
	return Drive{Nodes: []*lab.Node{node}, provider: provider}
}

// FirstEvents is the size of a side's first slice at full load.
const FirstEvents = 200

// Full returns a side of events at full load. The size of a slice follows from the rate of the one before: with all events that
// are accepted in its time, the inbox would stay busy for several times as long.
func (s *Suite) Full(name string, d Drive) Side {
	d.Count = s.Scaled(FirstEvents)
	return Side{name, func(ctx context.Context) (Slice, error) {
		got, err := s.Drive(ctx, d)
		if err == nil {
			err = AllAccepted(got.Result)
		}
		d.Count = s.InSlice(got)
		return SliceOf(got), err
	}}
}

// AllAccepted fails on refused requests, which would make the rest of a load look cheap.
func AllAccepted(r loadgen.Result) error {
	if r.OK < r.Requests {
		return fmt.Errorf("of %d requests %d were accepted: %v, %d without an answer", r.Requests, r.OK, r.Statuses, r.NoAnswer)
	}
	return nil
}

// InSlice returns how many requests fill a slice.
func (s *Suite) InSlice(got Driven) int64 {
	each := float64(got.Result.Requests) / float64(max(got.Result.Events, 1)) // a batch has more events
	return int64(max(each*got.PerSecond()*s.Lasting(SliceTime).Seconds(), 50))
}
