package deadletter

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func replayCommand() *cobra.Command {
	var wait bool
	command := &cobra.Command{
		Use:   "replay ID",
		Short: "Run a dead-lettered event again: the same workflow, event and bytes",
		Args:  cobra.ExactArgs(1),
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			started, err := t.Redrives().Replay(c.Context(), id, cli.ActorOf(c))
			if err != nil {
				return err
			}
			fmt.Fprintf(cli.Aside(c), "started %s (run %s)\n", started.Run.WorkflowID, started.Run.RunID)
			return follow(c, t, started, wait)
		}),
	}
	addWaitFlag(command, &wait)
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func addWaitFlag(c *cobra.Command, wait *bool) {
	c.Flags().BoolVar(wait, "wait", false, "wait for the end of the run, and fail if it fails")
}

// follow shows what was started, and its outcome if somebody waits for that.
func follow(c *cobra.Command, t *cli.Tools, started event.Replayed, wait bool) (err error) {
	shown := struct {
		event.Replayed

		Outcome event.Outcome `json:"outcome,omitempty"`
	}{Replayed: started}
	if wait {
		if shown.Outcome, err = awaitRun(c.Context(), t, started.Run); err == nil {
			fmt.Fprintln(cli.Aside(c), shown.Outcome)
		}
	}
	if cli.AsksJSON(c) {
		return errors.Join(cli.Print(c, shown, nil), err)
	}
	return err
}

func awaitRun(ctx context.Context, t *cli.Tools, started event.Run) (event.Outcome, error) {
	var result struct {
		Outcome event.Outcome `json:"outcome"`
		Owner   string        `json:"owner"`
	}
	if err := t.Temporal.GetWorkflow(ctx, started.WorkflowID, started.RunID).Get(ctx, &result); err != nil {
		return "", fmt.Errorf("it failed again: %w", err)
	}
	if result.Outcome == event.OutcomeDuplicate {
		return result.Outcome, fmt.Errorf("the event was not processed: event %s has its key", result.Owner)
	}
	return result.Outcome, nil
}
