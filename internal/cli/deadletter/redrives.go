package deadletter

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// RedriveCommand is `holdfast redrive`.
func RedriveCommand() *cobra.Command {
	return cli.Group("redrive", "List, show, watch, pause, resume and cancel bulk redrives (start one: dlq redrive)",
		listRedrivesCommand(), showRedriveCommand(), watchRedriveCommand(),
		changeRedriveCommand("pause", "Start nothing more of a redrive until it is resumed", event.RedrivePaused),
		changeRedriveCommand("resume", "Let a redrive go on", event.RedriveRunning),
		changeRedriveCommand("cancel", "End a redrive; what it has started goes on", event.RedriveCanceled))
}

func listRedrivesCommand() *cobra.Command {
	var limit int
	command := cli.ListCommand("List redrives, newest first",
		func(c *cobra.Command, t *cli.Tools) ([]event.Redrive, error) {
			return t.Redrives().Redrives(c.Context(), limit)
		},
		[]string{"ID", "STATE", "TOTAL", "DONE", "FAILED", "IN FLIGHT", "SKIPPED", "RATE", "BY", "STARTED"},
		func(r event.Redrive) []string {
			return []string{
				r.ID, string(r.State), number(r.Total), number(r.Done), number(r.Failed), number(r.InFlight),
				number(r.Skipped), cli.RateText(r.Rate), r.StartedBy, r.StartedAt.Format(time.RFC3339),
			}
		})
	cli.AddLimitFlag(command, &limit, 20)
	return command
}

func showRedriveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one redrive: its filter, and how far it has come",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			r, err := t.Redrives().Redrive(c.Context(), args[0])
			if err != nil {
				return err
			}
			return cli.Print(c, r, func(w io.Writer) error { return writeRedrive(w, r) })
		}),
	}
	cli.AddJSONFlag(command)
	return command
}

func writeRedrive(w io.Writer, r event.Redrive) error {
	var ended string
	if r.EndedAt != nil {
		ended = r.EndedAt.Format(time.RFC3339)
	}
	return cli.WriteFields(w,
		"redrive", r.ID,
		"state", string(r.State),
		"filter", filterText(r.Filter),
		"rate", cli.RateText(r.Rate),
		"total", number(r.Total),
		"processed", number(r.Done),
		"failed again", number(r.Failed),
		"in flight", number(r.InFlight),
		"skipped", number(r.Skipped),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", ended,
	)
}

func watchRedriveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "watch ID",
		Short: "Show the progress of a redrive until it has ended",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			r, err := watchRedrive(c, t, args[0])
			if cli.AsksJSON(c) && r.ID != "" {
				return errors.Join(cli.Print(c, r, nil), err)
			}
			return err
		}),
	}
	cli.AddJSONFlag(command)
	return command
}

func changeRedriveCommand(verb, short string, to event.RedriveState) *cobra.Command {
	command := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			r, err := t.Redrives().ChangeRedrive(c.Context(), args[0], to, cli.ActorOf(c))
			if err != nil {
				return err
			}
			return cli.Print(c, r, func(w io.Writer) error { return writeRedrive(w, r) })
		}),
	}
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func filterText(f event.RedriveFilter) string {
	var parts []string
	for _, part := range [][2]string{
		{"provider", f.Provider}, {"source", f.Source}, {"type", f.Type}, {"class", string(f.Class)}, {"code", f.Code},
		{"step", string(f.Step)}, {"since", cli.MomentText(f.Since)}, {"until", cli.MomentText(f.Until)},
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

func number(n int64) string { return strconv.FormatInt(n, 10) }
