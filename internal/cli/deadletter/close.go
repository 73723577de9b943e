package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

func discardCommand() *cobra.Command {
	command := changeCommand("discard ID --reason WHY",
		"Discard an event, and undo its changes of entities",
		"  holdfast dlq discard 7 --reason 'a test of the sender'",
		"discarded dead letter %d\n",
		func(t *cli.Tools) change { return t.Store.DeadLetters.DiscardDeadLetter })
	_ = command.MarkFlagRequired(cli.ReasonFlag)
	return command
}

func reopenCommand() *cobra.Command {
	return changeCommand("reopen ID", "Undo a discard: the dead letter is open again",
		"  holdfast dlq reopen 7 --reason 'it was real'",
		"reopened dead letter %[1]d: holdfast dlq replay %[1]d runs it\n",
		func(t *cli.Tools) change { return t.Store.DeadLetters.ReopenDeadLetter })
}

func deleteCommand() *cobra.Command {
	return changeCommand("delete ID", "Delete a resolved or discarded dead letter",
		"  holdfast dlq delete 7", "deleted dead letter %d\n",
		func(t *cli.Tools) change { return t.Store.DeadLetters.DeleteDeadLetter })
}

type change func(ctx context.Context, id int64, by oversight.Actor) error

// changeCommand returns a command that changes a dead letter and confirms it. As JSON it prints the changed dead letter, or only
// its number if it was deleted.
func changeCommand(use, short, example, done string, of func(*cli.Tools) change) *cobra.Command {
	command := &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			if err := of(t)(c.Context(), id, cli.ActorOf(c)); err != nil {
				return err
			}
			if !cli.WantsJSON(c) {
				_, err := fmt.Fprintf(c.OutOrStdout(), done, id)
				return err
			}
			letter, err := t.Store.DeadLetters.DeadLetter(c.Context(), id)
			if errors.Is(err, event.ErrNotFound) {
				return cli.Print(c, map[string]int64{"id": id}, nil)
			}
			return errors.Join(err, cli.Print(c, api.ViewDeadLetter(letter), nil))
		}),
	}
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

// removal is the API's response to a cleanup. It never has more: a command continues until all are deleted.
type removal struct {
	Removed int64 `json:"removed"`
	More    bool  `json:"more"`
}

func cleanupCommand() *cobra.Command {
	var cleanup operation.Cleanup
	command := &cobra.Command{
		Use:   "cleanup --older-than AGE",
		Short: "Delete old resolved and discarded dead letters",
		Example: "  holdfast dlq cleanup --older-than 30d\n" +
			"  holdfast dlq cleanup --older-than 2026-01-01 --provider stripe",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			var all int64
			for {
				removed, err := t.Store.DeadLetters.CleanUpDeadLetters(c.Context(), cleanup, cli.ActorOf(c))
				if err != nil {
					return err
				}
				all += removed
				if removed < operation.MaxCleanup {
					break
				}
			}
			cli.WarnUnknownProvider(c, t.Cfg, cleanup.Provider, int(all))
			return cli.Print(c, removal{Removed: all}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "removed %d dead letters\n", all)
				return err
			})
		}),
	}
	given := func() error {
		if cleanup.Before.IsZero() {
			return errors.New("use a time")
		}
		return nil
	}
	cli.AddTimeFlag(command, &cleanup.Before, given, "older-than", "closed before this time")
	cli.AddProviderFlag(command, &cleanup.Provider)
	_ = command.MarkFlagRequired("older-than")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}
