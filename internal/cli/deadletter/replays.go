package deadletter

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
)

// ReplayCommand returns `holdfast replay`.
func ReplayCommand() *cobra.Command {
	return cli.Group("replay", "List, pause and cancel replays started by `dlq replay`",
		"  holdfast replay list\n  holdfast replay watch 20261122-161500-k3xq",
		replays().Commands()...)
}

func replays() cli.Runs[operation.Replay] {
	return cli.Runs[operation.Replay]{
		Kind:    operation.KindReplay,
		Heading: []string{"TOTAL", "DONE", "FAILED", "IN FLIGHT+", "SKIPPED+"},
		Cells: func(r operation.Replay) []string {
			return []string{
				cli.Number(r.Total), cli.Number(r.Done), cli.Number(r.Failed), cli.Number(r.InFlight), cli.Number(r.Skipped),
			}
		},
		Write: writeReplay, Line: progressLine, End: endOfReplay,
	}
}

func writeReplay(w io.Writer, r operation.Replay) error {
	return cli.WriteFields(w,
		"replay", r.ID,
		"state", string(r.State),
		"filter", filterText(r.Filter),
		"rate", cli.RateText(r.Rate),
		"total", cli.Number(r.Total),
		"processed", cli.Number(r.Done),
		"failed again", cli.Number(r.Failed),
		"in flight", cli.Number(r.InFlight),
		"skipped", cli.Number(r.Skipped),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.OptionalTimeText(r.EndedAt),
		"blocked by", blockedText(r),
	)
}

// blockedText names the destinations that a replay's deliveries wait for, and the command that shows the cause.
func blockedText(r operation.Replay) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return strings.Join(r.BlockedBy, ", ") + ": breaker open, paused or disabled (holdfast destination show NAME)"
}

func progressLine(r operation.Replay) string {
	return fmt.Sprintf("%d of %d: %d processed, %d failed, %d skipped, %d in flight (%s)%s",
		r.Ended(), r.Total, r.Done, r.Failed, r.Skipped, r.InFlight, r.State, blockedMark(r))
}

func blockedMark(r operation.Replay) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return ", blocked by " + strings.Join(r.BlockedBy, ", ")
}

// endOfReplay reports whether each run that the replay started has ended, and an error if some failed.
func endOfReplay(r operation.Replay) (bool, error) {
	if !r.State.Ended() || r.InFlight > 0 {
		return false, nil
	}
	if r.Failed > 0 {
		return true, fmt.Errorf("%d of %d failed again: holdfast dlq list", r.Failed, r.Total)
	}
	return true, nil
}

func filterText(f operation.ReplayFilter) string {
	var parts []string
	for _, part := range [][2]string{
		{"provider", f.Provider}, {"source", f.Source}, {"type", f.Type}, {"class", string(f.Class)}, {"code", f.Code},
		{"step", string(f.Step)}, {"rule", f.Rule}, {"subscription", f.Subscription}, {"state", string(f.State)},
		{"since", cli.TimeText(f.Since)}, {"until", cli.TimeText(f.Until)},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if len(parts) == 0 {
		return "all waiting dead letters"
	}
	return strings.Join(parts, ", ")
}
