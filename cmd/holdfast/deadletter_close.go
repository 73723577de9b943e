package main

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
)

const reasonFlag = "reason"

// addReasonFlag asks for the reason of a change, which the audit log keeps.
func addReasonFlag(c *cobra.Command) { c.Flags().String(reasonFlag, "", "why, for the audit log") }

func actorOf(c *cobra.Command) event.Actor {
	reason, _ := c.Flags().GetString(reasonFlag)
	return commandLineActor(reason)
}

func deadLetterDiscardCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "discard ID --reason WHY",
		Short: "Give an event up: no attempt processes it any more, and what it did to entities is taken back",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.store.DiscardDeadLetter(c.Context(), id, actorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "discarded dead letter %d\n", id)
			return err
		}),
	}
	addReasonFlag(command)
	_ = command.MarkFlagRequired(reasonFlag)
	return command
}

func deadLetterReopenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "reopen ID",
		Short: "Take a discard back: the dead letter is open again, and can be replayed",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.store.ReopenDeadLetter(c.Context(), id, actorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "reopened dead letter %d: holdfast dlq replay %d runs it\n", id, id)
			return err
		}),
	}
	addReasonFlag(command)
	return command
}

func deadLetterDeleteCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ID",
		Short: "Remove a dead letter that is resolved or discarded",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.store.DeleteDeadLetter(c.Context(), id, actorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "deleted dead letter %d\n", id)
			return err
		}),
	}
	addReasonFlag(command)
	return command
}

func deadLetterCleanupCommand() *cobra.Command {
	var cleanup event.Cleanup
	command := &cobra.Command{
		Use:   "cleanup --older-than AGE",
		Short: "Remove dead letters that were resolved or discarded that long ago",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			var all int64
			for {
				removed, err := t.store.CleanUpDeadLetters(c.Context(), cleanup, actorOf(c))
				if err != nil {
					return err
				}
				all += removed
				if removed < event.MaxCleanup {
					break
				}
			}
			doubtProvider(c, t.cfg, cleanup.Provider, int(all))
			_, err := fmt.Fprintf(c.OutOrStdout(), "removed %d dead letters\n", all)
			return err
		}),
	}
	given := func() error {
		if cleanup.Before.IsZero() {
			return errors.New("want a time")
		}
		return nil
	}
	addTimeFlag(command, &cleanup.Before, given, "older-than", "how long ago (30d, 720h), or before when (RFC 3339)")
	command.Flags().StringVar(&cleanup.Provider, "provider", "", "only those of this provider")
	_ = command.MarkFlagRequired("older-than")
	addReasonFlag(command)
	return command
}

func deadLetterEditCommand() *cobra.Command {
	var wait bool
	var file string
	command := &cobra.Command{
		Use:   "edit ID --body FILE",
		Short: "Run an edited event instead: a new event with this body, under the workflow ID with :r1 behind it",
		Args:  cobra.ExactArgs(1),
		RunE: withTools(func(c *cobra.Command, t *tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			body, err := readEdited(c, file)
			if err != nil {
				return err
			}
			eventID, err := uuid.NewV7()
			if err != nil {
				return err
			}
			edit := event.Edit{DeadLetter: id, EventID: eventID.String(), Body: body}
			started, err := t.redrives().EditAndReplay(c.Context(), edit, actorOf(c))
			if err != nil {
				return err
			}
			return reportEdit(c, t, started, wait)
		}),
	}
	command.Flags().StringVar(&file, "body", "", "file with the new body; - reads standard input")
	command.Flags().BoolVar(&wait, "wait", false, "wait for the end of the run, and fail if it fails")
	_ = command.MarkFlagRequired("body")
	addReasonFlag(command)
	return command
}

// reportEdit says what an edit has started, and fails if it could not.
func reportEdit(c *cobra.Command, t *tools, started event.Replayed, wait bool) error {
	if started.Run.RunID == "" {
		return fmt.Errorf("the edited event is dead letter %d, and its run could not be started: "+
			"`holdfast dlq replay %d` tries again", started.DeadLetter, started.DeadLetter)
	}
	fmt.Fprintf(c.OutOrStdout(), "started %s (run %s) for event %s\n",
		started.Run.WorkflowID, started.Run.RunID, started.EventID)
	if !wait {
		return nil
	}
	return awaitRun(c, t, started.Run)
}

// maxEdited is the largest body that the ingress can be configured to accept.
const maxEdited = 1 << 20

func readEdited(c *cobra.Command, file string) ([]byte, error) {
	body, err := readBody(c.InOrStdin(), file)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > maxEdited {
		return nil, fmt.Errorf("the body is larger than %d bytes", maxEdited)
	}
	return body, nil
}
