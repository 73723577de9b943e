package deadletter

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/redrive"
)

// RedriveCommand returns `holdfast redrive`.
func RedriveCommand() *cobra.Command {
	return cli.Group("redrive", "List, pause and cancel redrives started by `dlq redrive`",
		"  holdfast redrive list\n  holdfast redrive watch 20261122-161500-k3xq",
		redrives().Commands()...)
}

func redrives() cli.Operations[operation.Redrive] {
	return cli.Operations[operation.Redrive]{
		Kind:    operation.KindRedrive,
		Of:      func(t *cli.Tools) *redrive.Operations[operation.Redrive] { return &t.Redrives().Operations },
		Heading: []string{"TOTAL", "DONE", "FAILED", "IN FLIGHT+", "SKIPPED+"},
		Cells: func(r operation.Redrive) []string {
			return []string{
				cli.Number(r.Total), cli.Number(r.Done), cli.Number(r.Failed), cli.Number(r.InFlight), cli.Number(r.Skipped),
			}
		},
		Write: writeRedrive, Line: progressLine, End: endOfRedrive,
	}
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
		"ended", cli.OptionalTimeText(r.EndedAt),
		"blocked by", blockedText(r),
	)
}

// blockedText names the destinations that a redrive's deliveries wait for, and the command that shows the cause.
func blockedText(r operation.Redrive) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return strings.Join(r.BlockedBy, ", ") + ": breaker open, paused or disabled (holdfast destination show NAME)"
}

func progressLine(r operation.Redrive) string {
	return fmt.Sprintf("%d of %d: %d processed, %d failed, %d skipped, %d in flight (%s)%s",
		r.Ended(), r.Total, r.Done, r.Failed, r.Skipped, r.InFlight, r.State, blockedMark(r))
}

func blockedMark(r operation.Redrive) string {
	if len(r.BlockedBy) == 0 {
		return ""
	}
	return ", blocked by " + strings.Join(r.BlockedBy, ", ")
}

// endOfRedrive reports whether each run that the redrive started has ended, and an error if some failed.
func endOfRedrive(r operation.Redrive) (bool, error) {
	if !r.State.Ended() || r.InFlight > 0 {
		return false, nil
	}
	if r.Failed > 0 {
		return true, fmt.Errorf("%d of %d failed again: holdfast dlq list", r.Failed, r.Total)
	}
	return true, nil
}

func filterText(f operation.RedriveFilter) string {
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
