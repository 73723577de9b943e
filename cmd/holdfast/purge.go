package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/runs"
)

func purgeCommand() *cobra.Command {
	var expunge, reason string
	command := &cobra.Command{
		Use:   "purge",
		Short: "Remove now what has been kept for long enough, or one event's content for good",
		Long: `Without flags it does at once what the schedule does anyway: it removes what is older than HOLDFAST_RETENTION_… says.

With --expunge it removes the content of one event everywhere, in PostgreSQL and in Temporal, whatever its age. The event's key
stays, so that a redelivery is a duplicate, and an audit row says who did it and why.`,
		GroupID: groupOperate,
		Args:    cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			if expunge != "" {
				return expungeEvent(c, t, expunge, commandLineActor(reason))
			}
			return purgeExpired(c, t, commandLineActor(reason))
		}),
	}
	command.Flags().StringVar(&expunge, "expunge", "", "the event (event id or workflow id) whose content is removed")
	command.Flags().StringVar(&reason, "reason", "", "why, for the audit log; --expunge needs one")
	addJSONFlag(command)
	return command
}

func purgeExpired(c *cobra.Command, t *tools, by event.Actor) error {
	keep, removed := retention(t.cfg), map[event.Kept]int64{}
	for _, kept := range event.AllKept() {
		before, ok := keep.Until(kept, time.Now())
		if !ok {
			continue
		}
		n, err := purgeAll(c.Context(), t, kept, before, by)
		if err != nil {
			return err
		}
		removed[kept] = n
	}
	return t.print(c, removed, func(w io.Writer) error {
		table := newTable(w, "KEPT", "REMOVED")
		for _, kept := range event.AllKept() {
			if n, ok := removed[kept]; ok {
				table.row(string(kept), strconv.FormatInt(n, 10))
			} else {
				table.row(string(kept), "kept for ever")
			}
		}
		return table.flush()
	})
}

func purgeAll(ctx context.Context, t *tools, kept event.Kept, before time.Time, by event.Actor) (total int64, err error) {
	for {
		n, err := t.store.PurgeBatchBy(ctx, kept, before, by)
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}

// expungeEvent begins with Temporal: should it fail half-way, the database still knows which runs there are, and the command
// can be given again.
func expungeEvent(c *cobra.Command, t *tools, argument string, by event.Actor) error {
	if by.Reason == "" {
		return errors.New("say why, for the audit log: --reason \"…\"")
	}
	id, err := eventIDOf(c.Context(), t, argument)
	if err != nil {
		return err
	}
	runs, err := forgetRuns(c.Context(), t, id)
	if err != nil {
		return err
	}
	gone, err := t.store.Expunge(c.Context(), id, runs, by)
	if err != nil {
		return err
	}
	return t.print(c, gone, func(w io.Writer) error {
		if gone.Earlier != nil {
			fmt.Fprintf(w, "%s\n", &event.VerdictError{Verdict: *gone.Earlier})
		}
		_, err := fmt.Fprintf(w, "event %s is expunged: %d row(s), %d dead letter(s), %d change(s) of %d entities, %d run(s)\n",
			gone.EventID, gone.Events, gone.DeadLetters, gone.Changes, gone.Entities, gone.Runs)
		return err
	})
}

func forgetRuns(ctx context.Context, t *tools, id string) (total int, err error) {
	workflowIDs, err := t.store.WorkflowsOf(ctx, id)
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		return 0, err // not found: its rows are purged, what it did to entities may be left
	}
	slices.Sort(workflowIDs)
	for _, workflowID := range slices.Compact(workflowIDs) {
		n, err := runs.Delete(ctx, t.temporal, t.cfg.Temporal.Namespace, workflowID)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// eventIDOf takes the ID of an event or of a workflow.
func eventIDOf(ctx context.Context, t *tools, argument string) (string, error) {
	if uuid.Validate(argument) == nil {
		return argument, nil
	}
	if _, _, ok := event.SplitWorkflowID(argument); !ok {
		return "", fmt.Errorf("%q is neither the ID of an event (a UUID) nor of a workflow (provider:key)", argument)
	}
	return t.store.EventOfWorkflow(ctx, argument)
}
