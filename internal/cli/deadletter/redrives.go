package deadletter

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

// RedriveCommand is `holdfast redrive`.
func RedriveCommand() *cobra.Command {
	return cli.Group("redrive", "See, pause and cancel what `dlq redrive` has started",
		"  holdfast redrive list\n  holdfast redrive watch 20261122-161500-k3xq",
		append([]*cobra.Command{listRedrivesCommand()}, bulk().Commands()...)...)
}

func bulk() cli.Operation[operation.Redrive] {
	return cli.Operation[operation.Redrive]{
		Noun: "redrive",
		Read: func(ctx context.Context, t *cli.Tools, id string) (operation.Redrive, error) {
			return t.Redrives().Redrive(ctx, id)
		},
		Change: func(
			ctx context.Context, t *cli.Tools, id string, to operation.State, by oversight.Actor,
		) (operation.Redrive, error) {
			return t.Redrives().ChangeRedrive(ctx, id, to, by)
		},
		Write: writeRedrive, Line: progressLine, End: endOfRedrive,
	}
}

func listRedrivesCommand() *cobra.Command {
	return cli.Listing[operation.Redrive, string]{
		Short: "List redrives, newest first", Example: "  holdfast redrive list", Limit: 20,
		Read: func(c *cobra.Command, t *cli.Tools, limit int, _ *string) ([]operation.Redrive, error) {
			return t.Redrives().Redrives(c.Context(), limit)
		},
		Heading: []string{"ID!", "STATE", "TOTAL", "DONE", "FAILED", "IN FLIGHT+", "SKIPPED+", "RATE+", "BY+", "STARTED/AGE~"},
		Cells: func(r operation.Redrive) []string {
			return []string{
				r.ID, string(r.State), cli.Number(r.Total), cli.Number(r.Done), cli.Number(r.Failed), cli.Number(r.InFlight),
				cli.Number(r.Skipped), cli.RateText(r.Rate), r.StartedBy, r.StartedAt.Format(time.RFC3339),
			}
		},
	}.Command()
}

func writeRedrive(w io.Writer, r operation.Redrive) error {
	return cli.WriteFields(w,
		"redrive", r.ID,
		"state", string(r.State),
		"filter", filterText(r.Filter),
		"rate", cli.RateText(r.Rate),
		"total", cli.Number(r.Total),
		"processed", cli.Number(r.Done),
		"failed again", cli.Number(r.Failed),
		"in flight", cli.Number(r.InFlight),
		"skipped", cli.Number(r.Skipped),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.MomentTextOf(r.EndedAt),
		"blocked by", blockedText(r),
	)
}

// blockedText names the destinations that a redrive's deliveries wait for, and the command that says why.
func blockedText(r operation.Redrive) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return strings.Join(r.BlockedBy, ", ") + ": breaker open, paused or disabled (holdfast destination show NAME)"
}

func progressLine(r operation.Redrive) string {
	share := 1.0
	if r.Total > 0 {
		share = float64(r.Ended()) / float64(r.Total)
	}
	return fmt.Sprintf("%s  %d of %d: %d processed, %d failed, %d skipped, %d in flight (%s)%s",
		cli.Bar(share), r.Ended(), r.Total, r.Done, r.Failed, r.Skipped, r.InFlight, r.State, blockedMark(r))
}

func blockedMark(r operation.Redrive) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return ", blocked by " + strings.Join(r.BlockedBy, ", ")
}

// endOfRedrive: it has ended when each run that it started has.
func endOfRedrive(r operation.Redrive) (bool, error) {
	if !r.State.Ended() || r.InFlight > 0 {
		return false, nil
	}
	if r.Failed > 0 {
		return true, fmt.Errorf("%d of %d have failed again: holdfast dlq list", r.Failed, r.Total)
	}
	return true, nil
}

func filterText(f operation.RedriveFilter) string {
	var parts []string
	for _, part := range [][2]string{
		{"provider", f.Provider}, {"source", f.Source}, {"type", f.Type}, {"class", string(f.Class)}, {"code", f.Code},
		{"step", string(f.Step)}, {"rule", f.Rule}, {"subscription", f.Subscription}, {"state", string(f.State)},
		{"since", cli.MomentText(f.Since)}, {"until", cli.MomentText(f.Until)},
	} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if len(parts) == 0 {
		return "all that wait"
	}
	return strings.Join(parts, ", ")
}
