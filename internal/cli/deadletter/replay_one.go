package deadletter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/cli"
)

// oneReplay replays one dead letter.
type oneReplay struct{ wait, refetch bool }

func (o oneReplay) run(c *cobra.Command, t *cli.Tools, name string) error {
	id, err := t.FindDeadLetter(c.Context(), name)
	if err != nil {
		return err
	}
	replay := t.SingleReplays().Replay
	if o.refetch {
		replay = t.SingleReplays().Refetch
	}
	started, err := replay(c.Context(), id, cli.ActorOf(c))
	if err != nil {
		return err
	}
	if started.Run.WorkflowID == "" {
		fmt.Fprintf(cli.StatusWriter(c), "sent again: event %s\n", started.EventID)
		return followDelivery(c, t, started, o.wait)
	}
	fmt.Fprintf(cli.StatusWriter(c), "started %s (run %s)\n", started.Run.WorkflowID, started.Run.RunID)
	return follow(c, t, started, o.wait)
}

func addWaitFlag(c *cobra.Command, wait *bool) {
	c.Flags().BoolVar(wait, "wait", false, "wait for the result, and exit 1 if it fails again")
}

// follow prints what was started and, if wait is set, its outcome.
func follow(c *cobra.Command, t *cli.Tools, started operation.Replayed, wait bool) (err error) {
	shown := struct {
		operation.Replayed

		Outcome     event.Outcome `json:"outcome,omitempty"`
		DuplicateOf string        `json:"duplicate_of,omitempty"`
	}{Replayed: started}
	if wait {
		var result runResult
		if result, err = awaitRun(c.Context(), t, started.Run); err == nil {
			shown.Outcome, shown.DuplicateOf = result.Outcome, result.Owner
			fmt.Fprintln(cli.StatusWriter(c), result)
		}
	}
	return cli.Report(c, shown, nil, err)
}

// followDelivery is follow for a delivery, which is resent without a run.
func followDelivery(c *cobra.Command, t *cli.Tools, started operation.Replayed, wait bool) error {
	var err error
	if wait {
		err = awaitDelivery(c.Context(), t, started.DeadLetter)
	}
	return cli.Report(c, started, nil, err)
}

// awaitDelivery waits until a dead letter's replay has ended. The error says why its event wasn't delivered.
func awaitDelivery(ctx context.Context, t *cli.Tools, id int64) error {
	ticker := time.NewTicker(cli.ProgressInterval)
	defer ticker.Stop()
	for {
		d, err := t.Store.DeadLetters.DeadLetter(ctx, id)
		switch {
		case err != nil:
			return err
		case d.State == event.DeadLetterResolved:
			return nil
		case d.State != event.DeadLetterReplaying:
			return fmt.Errorf("it failed again: dead letter %d is %s: %s", id, d.State, d.Failure.Code)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// runResult is what the run of an event returns. Owner is set if the event is a duplicate of that one.
type runResult struct {
	Outcome event.Outcome `json:"outcome"`
	Owner   string        `json:"owner"`
}

func (r runResult) String() string {
	if r.Outcome == event.OutcomeDuplicate {
		return fmt.Sprintf("duplicate of event %s: not processed again, and the dead letter is resolved", r.Owner)
	}
	return string(r.Outcome)
}

func awaitRun(ctx context.Context, t *cli.Tools, started event.Run) (result runResult, err error) {
	if err = t.Temporal.GetWorkflow(ctx, started.WorkflowID, started.RunID).Get(ctx, &result); err != nil {
		return result, fmt.Errorf("it failed again: %w", ownWords(err))
	}
	return result, nil
}

// ownWords returns a run's own error message without what Temporal's client wraps around it.
func ownWords(err error) error {
	var own interface{ Message() string }
	if errors.As(err, &own) {
		return errors.New(own.Message())
	}
	return err
}

func editCommand() *cobra.Command {
	var wait bool
	var file string
	command := &cobra.Command{
		Use:   "edit ID --file FILE",
		Short: "Replay with an edited body, and keep the original",
		Long: "Replay with an edited body: this starts a new event, whose workflow ID ends with :r1.\n" +
			"The original isn't changed.",
		Example: "  holdfast event body 7 > body.json\n" +
			"  holdfast dlq edit 7 --file body.json --reason 'a typo' --wait",
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			body, err := readEdited(c, file)
			if err != nil {
				return err
			}
			eventID, err := uuid.NewV7()
			if err != nil {
				return err
			}
			edit := operation.Edit{DeadLetter: id, EventID: eventID.String(), Body: body}
			started, err := t.SingleReplays().EditAndReplay(c.Context(), edit, cli.ActorOf(c))
			if err != nil {
				return err
			}
			if started.Run.RunID == "" {
				return fmt.Errorf("the edited event is dead letter %d, and its run could not be started: "+
					"`holdfast dlq replay %d` tries again", started.DeadLetter, started.DeadLetter)
			}
			fmt.Fprintf(cli.StatusWriter(c), "started %s (run %s) for event %s\n",
				started.Run.WorkflowID, started.Run.RunID, started.EventID)
			return follow(c, t, started, wait)
		}),
	}
	cli.AddFileFlag(command, &file, "the new body, byte for byte", "body")
	addWaitFlag(command, &wait)
	_ = command.MarkFlagRequired("file")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

// maxEdited is the largest body that the ingress can be configured to accept.
const maxEdited = 1 << 20

func readEdited(c *cobra.Command, file string) ([]byte, error) {
	body, err := cli.ReadBody(c.InOrStdin(), file)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > maxEdited {
		return nil, fmt.Errorf("the body is larger than %d bytes", maxEdited)
	}
	return body, nil
}
