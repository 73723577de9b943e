package deadletter

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// runOne replays one dead letter.
func (o *replayOptions) runOne(c *cobra.Command, a *cli.API, name string) error {
	id, err := a.FindDeadLetter(c.Context(), name)
	if err != nil {
		return err
	}
	var started operation.Replayed
	wanted := api.SingleReplay{Reasoned: o.Reasoned, Fetch: o.fetch}
	if err := a.Change(c.Context(), http.MethodPost, cli.Path("dead-letters", id, "replay"), wanted, &started); err != nil {
		return err
	}
	if started.Run.WorkflowID == "" {
		fmt.Fprintf(cli.StatusWriter(c), "sent again: event %s\n", started.EventID)
	} else {
		fmt.Fprintf(cli.StatusWriter(c), "started %s (run %s)\n", started.Run.WorkflowID, started.Run.RunID)
	}
	return follow(c, a, started, o.wait)
}

func addWaitFlag(c *cobra.Command, wait *bool) {
	c.Flags().BoolVar(wait, "wait", false, "wait for the result, and exit 1 if it fails again")
}

// result is the outcome of a replay. DuplicateOf is set if the event is a duplicate of that one. ReplacedBy and Reason are set if
// it was split: ReplacedBy is the first of the new events.
type result struct {
	operation.Replayed

	Outcome     event.Outcome `json:"outcome,omitempty"`
	DuplicateOf string        `json:"duplicate_of,omitempty"`
	ReplacedBy  string        `json:"replaced_by,omitempty"`
	Reason      string        `json:"reason,omitempty"`
}

func (r *result) String() string {
	if r.Outcome == event.OutcomeDuplicate {
		return fmt.Sprintf("duplicate of event %s: not processed again, and the dead letter is resolved", r.DuplicateOf)
	}
	if r.Outcome == event.OutcomeReplaced {
		return fmt.Sprintf("replaced: %s, the first is %s", r.Reason, r.ReplacedBy)
	}
	return string(r.Outcome)
}

// follow prints what was started and, if wait is set, its outcome.
func follow(c *cobra.Command, a *cli.API, started operation.Replayed, wait bool) (err error) {
	shown := result{Replayed: started}
	if wait {
		if err = shown.await(c.Context(), a); err == nil && started.Run.WorkflowID != "" {
			fmt.Fprintln(cli.StatusWriter(c), &shown)
		}
	}
	return cli.Report(c, shown, nil, err)
}

// await waits until a dead letter's replay has ended. The error says why it failed again.
func (r *result) await(ctx context.Context, a *cli.API) error {
	ticker := time.NewTicker(cli.ProgressInterval)
	defer ticker.Stop()
	for {
		var d api.DeadLetterView
		err := a.Read(ctx, cli.Path("dead-letters", strconv.FormatInt(r.DeadLetter, 10)), nil, &d)
		switch {
		case err != nil:
			return err
		case d.State == event.DeadLetterResolved:
			return r.resolve(ctx, a, d)
		case d.ReplacedBy != "":
			r.Outcome, r.ReplacedBy, r.Reason = event.OutcomeReplaced, d.ReplacedBy, d.DiscardReason
			return nil
		case d.State != event.DeadLetterReplaying:
			return fmt.Errorf("it failed again: dead letter %d: %s %s: %s", d.ID, d.Failure.Step, d.Failure.Class, d.Failure.Code)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// resolve sets the outcome of a dead letter's event.
func (r *result) resolve(ctx context.Context, a *cli.API, d api.DeadLetterView) error {
	if d.Subscription != "" {
		return nil
	}
	if r.DuplicateOf = d.DuplicateOf; d.DuplicateOf != "" {
		r.Outcome = event.OutcomeDuplicate
		return nil
	}
	var processed api.EventView
	err := a.Read(ctx, cli.Path("events", d.EventID), nil, &processed)
	r.Outcome = processed.Outcome
	return err
}

func editCommand() *cobra.Command {
	var wait bool
	var file string
	command := withNumber(&cobra.Command{
		Use:   "edit ID --file FILE",
		Short: "Replay with an edited body, and keep the original",
		Long: "Replay with an edited body: this starts a new event, whose workflow ID ends with :r1.\n" +
			"The original isn't changed.",
		Example: "  holdfast event body 7 > body.json\n" +
			"  holdfast dlq edit 7 --file body.json --reason 'a typo' --wait",
	}, func(c *cobra.Command, a *cli.API, id string) error {
		body, err := readEdited(c, file)
		if err != nil {
			return err
		}
		var started operation.Replayed
		encoded := base64.StdEncoding.EncodeToString(body)
		edit := api.Edit{Reasoned: cli.Reasoned(c), BodyBase64: &encoded}
		if err := a.Change(c.Context(), http.MethodPost, cli.Path("dead-letters", id, "edit"), edit, &started); err != nil {
			return err
		}
		if started.Run.RunID == "" {
			return fmt.Errorf("the edited event is dead letter %d, and its run could not be started: "+
				"`holdfast dlq replay %d` tries again", started.DeadLetter, started.DeadLetter)
		}
		fmt.Fprintf(cli.StatusWriter(c), "started %s (run %s) for event %s\n",
			started.Run.WorkflowID, started.Run.RunID, started.EventID)
		return follow(c, a, started, wait)
	})
	cli.AddFileFlag(command, &file, "the new body, byte for byte")
	addWaitFlag(command, &wait)
	_ = command.MarkFlagRequired("file")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func readEdited(c *cobra.Command, file string) ([]byte, error) {
	body, err := cli.ReadBody(c.InOrStdin(), file)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > event.MaxBody {
		return nil, fmt.Errorf("the body is larger than %d bytes", event.MaxBody)
	}
	return body, nil
}
