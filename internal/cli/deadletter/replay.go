package deadletter

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func replayCommand() *cobra.Command {
	var wait bool
	var reason string
	command := &cobra.Command{
		Use:   "replay ID",
		Short: "Run a dead-lettered event again: the same workflow, event and bytes",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			started, err := t.Redrives().Replay(c.Context(), id, cli.CommandLineActor(reason))
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

func awaitRun(c *cobra.Command, t *cli.Tools, started event.Run) error {
	var result struct {
		Outcome event.Outcome `json:"outcome"`
		Owner   string        `json:"owner"`
	}
	if err := t.Temporal.GetWorkflow(c.Context(), started.WorkflowID, started.RunID).Get(c.Context(), &result); err != nil {
		return fmt.Errorf("it failed again: %w", err)
	}
	if result.Outcome == event.OutcomeDuplicate {
		return fmt.Errorf("the event was not processed: event %s has its key", result.Owner)
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), result.Outcome)
	return err
}
