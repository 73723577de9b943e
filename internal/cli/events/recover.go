package events

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
	"holdfast/providers/recovery"
)

// RecoverCommand returns `holdfast recover`.
func RecoverCommand() *cobra.Command {
	o := api.RecoveryRequest{Rate: operation.KindRecovery.Rates().Default}
	command := cli.WithAPI(&cobra.Command{
		Use:   "recover PROVIDER",
		Short: "Find events that never arrived, and process them",
		Long: "Read a provider's own list of events, and process those that never arrived, oldest\n" +
			"first and at a rate. The workers read the list, with the credential that the\n" +
			"definition names. Without --since it continues where the last recovery ended.\n\n" +
			"A recovered event has the key of its webhook: a late delivery is a duplicate. Events\n" +
			"that are here in any form, also discarded and expunged ones, don't come back.",
		Example: "  holdfast recover stripe --since 48h --dry-run\n" +
			"  holdfast recover stripe --since 48h --reason INC-42\n" +
			"  holdfast recover stripe --target acct_1 --rate 5/s --detach\n" +
			"  holdfast recover stripe --paused --yes    # stops the schedule of the list\n" +
			"  holdfast recover list\n" +
			"  holdfast recover watch|pause|resume|cancel ID",
		Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		if err := recovery.CheckTarget(o.Target); err != nil {
			return cli.UsageError(c, fmt.Errorf("--target: %w", err))
		}
		o.Reasoned, o.Provider, o.Since = cli.Reasoned(c), args[0], c.Flag("since").Value.String()
		return recoverMissed(c, a, o)
	})
	cli.AddTimeFlag(command, new(time.Time), nil, "since", "not before then")
	flags := command.Flags()
	flags.StringVar(&o.Target, "target", "", "the account or board whose list to read, if the provider has several")
	flags.BoolVar(&o.Undelivered, "no-deliveries", false, "don't send recovered events to subscriptions")
	flags.BoolVar(&o.AcceptDuplicates, "accept-duplicates", false,
		"also go back before recovery was switched on, where events may be processed twice")
	flags.BoolVar(&o.Paused, "paused", false, "wait until it is resumed: until then the schedule doesn't recover the list either")
	cli.AddRateFlag(command, &o.Rate, "rate", "missed events to start")
	cli.AddStartFlags(command, &o.DryRun)
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	command.AddCommand(recoveries().Commands()...)
	return command
}

func recoverMissed(c *cobra.Command, a *cli.API, wanted api.RecoveryRequest) error {
	question := fmt.Sprintf("Recover missed events of %s (%s)?", wanted.Provider, deliveriesText(wanted.Undelivered))
	if !wanted.DryRun && !cli.Confirm(c, question) {
		return errors.New("nothing was started (--yes starts it without asking, --dry-run changes nothing)")
	}
	r, err := recoveries().Start(c, a, wanted)
	if r.ID == "" {
		return err
	}
	return cli.Report(c, r, func(w io.Writer) error { return writeRecovery(w, r) }, err)
}

func recoveries() cli.Runs[operation.Recovery] {
	return cli.Runs[operation.Recovery]{
		Kind: operation.KindRecovery, Command: "recover",
		Heading: []string{"PROVIDER", "TARGET+", "DRY RUN+", "SINCE+", "LISTED", "KNOWN+", "MISSED", "RECOVERED"},
		Cells: func(r operation.Recovery) []string {
			return []string{
				r.Provider, r.Target, fmt.Sprint(r.DryRun), cli.TimeText(r.Since), cli.Number(r.Listed), cli.Number(r.Known),
				cli.Number(r.Missed), cli.Number(r.Recovered),
			}
		},
		Write: writeRecovery, Line: recoveryLine, End: endOfRecovery,
	}
}

func recoveryLine(r operation.Recovery) string {
	line := fmt.Sprintf("%d listed, %d known, %d missed, %d recovered (%s)", r.Listed, r.Known, r.Missed, r.Recovered, r.State)
	if r.Problem != "" && !r.State.Ended() {
		line += ": " + r.Problem
	}
	return line
}

// endOfRecovery also ends the watching of a recovery that a problem has paused: an operator must do something.
func endOfRecovery(r operation.Recovery) (bool, error) {
	switch {
	case r.State == operation.Paused && r.Problem != "":
		return true, fmt.Errorf("the recovery is paused: %s. Then: holdfast recover resume %s", r.Problem, r.ID)
	case r.State.Ended() && r.Failed > 0:
		return true, fmt.Errorf("%d of %d missed events could not be started: %s", r.Failed, r.Missed, r.Problem)
	}
	return r.State.Ended(), nil
}

func deliveriesText(isUndelivered bool) string {
	if isUndelivered {
		return "they are not sent to subscriptions"
	}
	return "they are sent to subscriptions like any other event"
}

// redeliverableNumber leaves a count out if the provider's list has all events.
func redeliverableNumber(r operation.Recovery, n int64) string {
	if r.Redeliverable == 0 {
		return ""
	}
	return cli.Number(n)
}

// redeliveryText says how many events only the provider can send, and how it is asked for them.
func redeliveryText(r operation.Recovery) string {
	text := redeliverableNumber(r, r.Redeliverable)
	if text != "" && r.Unasked() > 0 {
		text += " (it is asked to send them again if HOLDFAST_RECOVERY_REDELIVER of the workers has " + r.Provider + ")"
	}
	return text
}

// cutText says what a recovery can't read.
func cutText(r operation.Recovery) string {
	text := "from " + r.WantedSince.UTC().Format(time.RFC3339) + " to " + r.Since.UTC().Format(time.RFC3339)
	switch r.Cut {
	case operation.CutReach:
		return text + ", which the provider's list doesn't have: what happened then can't be known"
	case operation.CutSwitchedOn:
		return text + ", before recovery was switched on with today's dedupe window (--accept-duplicates reads it)"
	}
	return ""
}

func writeRecovery(w io.Writer, r operation.Recovery) error {
	var dry, period string
	if r.DryRun {
		dry = "yes (nothing is changed)"
	}
	if !r.Since.IsZero() {
		period = r.Since.Format(time.RFC3339) + " to " + r.Until.Format(time.RFC3339)
	}
	err := cli.WriteFields(w,
		"recovery", r.ID,
		"state", string(r.State),
		"provider", r.Provider,
		"target", r.Target,
		"dry run", dry,
		"period", period,
		"not read", cutText(r),
		"rate", cli.RateText(r.Rate),
		"deliveries", deliveriesText(r.Undelivered),
		"listed", cli.Number(r.Listed),
		"known", cli.Number(r.Known),
		"of types that never arrived", cli.Number(r.Unwanted),
		"can't be recognized", cli.Number(r.Unsafe),
		"missed", fmt.Sprintf("%d (of which the provider may still deliver %d)", r.Missed, r.Retrying),
		"only the provider has it", redeliveryText(r),
		"gap", r.GapText(),
		"asked to send again", redeliverableNumber(r, r.Asked),
		"recovered", cli.Number(r.Recovered),
		"arrived meanwhile", cli.Number(r.Arrived),
		"failed to start", cli.Number(r.Failed),
		"problem", r.Problem,
		"tries again", cli.TimeText(r.RetryAt),
		"started", r.StartedAt.Format(time.RFC3339)+" by "+r.StartedBy,
		"ended", cli.OptionalTimeText(r.EndedAt),
	)
	if err != nil || len(r.Examples) == 0 {
		return err
	}
	table := cli.NewTable(w, "MISSED EVENT!", "TYPE", "AT")
	for _, m := range r.Examples {
		table.Row(m.WorkflowID, m.Type, m.At.Format(time.RFC3339))
	}
	return table.Flush()
}
