package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func deadLetterCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "dlq",
		Short:   "List, show, replay, redrive, edit, discard, reopen and remove dead letters",
		GroupID: groupOperate,
	}
	command.AddCommand(deadLetterListCommand(), deadLetterShowCommand(), deadLetterReplayCommand(), deadLetterRedriveCommand())
	command.AddCommand(deadLetterEditCommand(), deadLetterDiscardCommand(), deadLetterReopenCommand())
	command.AddCommand(deadLetterDeleteCommand(), deadLetterCleanupCommand())
	return command
}

// anyState does not restrict a list.
const anyState event.DeadLetterState = "all"

func deadLetterListCommand() *cobra.Command {
	var query event.DeadLetterQuery
	state := event.DeadLetterOpen
	command := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the last failed first",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			if err := checkSource(query.Provider, query.Source); err != nil {
				return misuse(c, err)
			}
			if query.State = state; state == anyState {
				query.State = ""
			}
			page, err := t.store.DeadLetters(c.Context(), query)
			if err != nil {
				return err
			}
			doubtProvider(c, t.cfg, query.Provider, len(page))
			return t.print(c, page, func(w io.Writer) error { return writeDeadLetters(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	addSourceFlag(command, &query.Source)
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	addChoiceFlag(command, &query.Class, "error-class", "only those of this class", event.Classes())
	command.Flags().StringVar(&query.Code, "error-code", "", "only those of this code")
	addChoiceFlag(command, &query.Step, "step", "only those that failed at this step", event.Steps())
	addEventFlag(command, &query.EventID, "event", "only those of the event with this ID")
	addPeriodFlags(command, &query.Since, &query.Until)
	addChoiceFlag(command, &state, "state", "only those in this state", append(event.DeadLetterStates(), anyState))
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

func writeDeadLetters(w io.Writer, page []event.DeadLetter) error {
	table := newTable(w, "ID", "STATE", "PROVIDER", "SOURCE", "TYPE", "STEP", "CLASS", "CODE", "FAILURES", "LAST FAILED", "WORKFLOW")
	for _, d := range page {
		table.row(strconv.FormatInt(d.ID, 10), string(d.State), d.Receipt.Provider, d.Receipt.Source, d.Receipt.Type,
			string(d.Failure.Step), string(d.Failure.Class), d.Failure.Code, strconv.Itoa(d.Failures),
			d.LastFailed.Format(time.RFC3339), d.Run.WorkflowID)
	}
	return table.flush()
}

func deadLetterShowCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: what failed, why, since when, and the body",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			d, err := findDeadLetter(c.Context(), t, args[0])
			if err != nil {
				return err
			}
			return printDeadLetter(c, t, d)
		}),
	}
	addJSONFlag(command)
	return command
}

func printDeadLetter(c *cobra.Command, t *tools, d event.DeadLetter) error {
	return t.print(c, struct {
		event.DeadLetter
		RawBody []byte `json:"raw_body"`
	}{d, d.Body}, func(w io.Writer) error { return writeDeadLetter(w, d) })
}

func writeDeadLetter(w io.Writer, d event.DeadLetter) error {
	err := writeFields(w,
		"dead letter", strconv.FormatInt(d.ID, 10)+" ("+string(d.State)+")",
		"event", d.Receipt.ID,
		"workflow", d.Run.WorkflowID,
		"run", d.Run.RunID,
		"provider", d.Receipt.Provider,
		"source", d.Receipt.Source,
		"type", d.Receipt.Type,
		"received", d.Receipt.ReceivedAt.Format(time.RFC3339Nano),
		"failed at step", fmt.Sprintf("%s (%s, %s)", d.Failure.Step, d.Failure.Class, d.Failure.Code),
		"reason", d.Failure.Message,
		"attempts", strconv.Itoa(d.Failure.Attempts),
		"failures", strconv.Itoa(d.Failures),
		"first failed", d.FirstFailed.Format(time.RFC3339Nano),
		"last failed", d.LastFailed.Format(time.RFC3339Nano),
		"automatic attempts", automaticAttempts(d),
		"resolved by run", d.ResolvedRun,
		"discarded by", d.DiscardedBy,
		"discarded because", d.DiscardReason,
		"replaced by event", d.ReplacedBy,
		"replaces event", d.Receipt.Replaces,
	)
	if err != nil {
		return err
	}
	if err := writeBody(w, d.Body); err != nil {
		return err
	}
	if d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted {
		_, err = fmt.Fprintf(w, "\nOnce the cause is gone: holdfast dlq replay %d --wait\n", d.ID)
	}
	return err
}

func automaticAttempts(d event.DeadLetter) string {
	switch {
	case d.NextRedriveAt != nil:
		return fmt.Sprintf("%d, the next one from %s", d.AutoAttempts, d.NextRedriveAt.Format(time.RFC3339))
	case d.AutoAttempts > 0:
		return strconv.Itoa(d.AutoAttempts)
	default:
		return ""
	}
}

func deadLetterReplayCommand() *cobra.Command {
	var wait bool
	var reason string
	command := &cobra.Command{
		Use:   "replay ID",
		Short: "Run a dead-lettered event again: the same workflow, event and bytes",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			started, err := t.redrives().Replay(c.Context(), id, commandLineActor(reason))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "started %s (run %s)\n", started.Run.WorkflowID, started.Run.RunID)
			if !wait {
				return nil
			}
			return awaitRun(c, t, started.Run)
		}),
	}
	command.Flags().BoolVar(&wait, "wait", false, "wait for the end of the run, and fail if it fails")
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return command
}

func findDeadLetter(ctx context.Context, t *tools, argument string) (event.DeadLetter, error) {
	id, err := deadLetterID(argument)
	if err != nil {
		return event.DeadLetter{}, err
	}
	return t.store.DeadLetter(ctx, id)
}

func deadLetterID(argument string) (int64, error) {
	id, err := strconv.ParseInt(argument, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a dead letter: `holdfast dlq list` has them", argument)
	}
	return id, nil
}

func awaitRun(c *cobra.Command, t *tools, started event.Run) error {
	var result struct {
		Outcome event.Outcome `json:"outcome"`
		Owner   string        `json:"owner"`
	}
	if err := t.temporal.GetWorkflow(c.Context(), started.WorkflowID, started.RunID).Get(c.Context(), &result); err != nil {
		return fmt.Errorf("it failed again: %w", err)
	}
	if result.Outcome == event.OutcomeDuplicate {
		return fmt.Errorf("the event was not processed: event %s has its key", result.Owner)
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), result.Outcome)
	return err
}
