package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func discardCommand() *cobra.Command {
	command := changeCommand("discard ID --reason WHY",
		"Give an event up: no attempt processes it any more, and what it did to entities is taken back",
		"discarded dead letter %d\n",
		func(t *cli.Tools) change { return t.Store.DiscardDeadLetter })
	_ = command.MarkFlagRequired(cli.ReasonFlag)
	return command
}

func reopenCommand() *cobra.Command {
	return changeCommand("reopen ID", "Take a discard back: the dead letter is open again, and can be replayed",
		"reopened dead letter %[1]d: holdfast dlq replay %[1]d runs it\n",
		func(t *cli.Tools) change { return t.Store.ReopenDeadLetter })
}

func deleteCommand() *cobra.Command {
	return changeCommand("delete ID", "Remove a dead letter that is resolved or discarded", "deleted dead letter %d\n",
		func(t *cli.Tools) change { return t.Store.DeleteDeadLetter })
}

// change changes one dead letter.
type change func(ctx context.Context, id int64, by event.Actor) error

// changeCommand makes a change and says that it is done. As JSON it shows the dead letter as it is then, or only its number if it
// is no more.
func changeCommand(use, short, done string, of func(*cli.Tools) change) *cobra.Command {
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			if err := of(t)(c.Context(), id, cli.ActorOf(c)); err != nil {
				return err
			}
			if !cli.AsksJSON(c) {
				_, err := fmt.Fprintf(c.OutOrStdout(), done, id)
				return err
			}
			letter, err := t.Store.DeadLetter(c.Context(), id)
			if errors.Is(err, event.ErrNotFound) {
				return cli.Print(c, map[string]int64{"id": id}, nil)
			}
			return errors.Join(err, Print(c, letter))
		}),
	}
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func cleanupCommand() *cobra.Command {
	var cleanup event.Cleanup
	command := &cobra.Command{
		Use:   "cleanup --older-than AGE",
		Short: "Remove dead letters that were resolved or discarded that long ago",
		Args:  cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			var all int64
			for {
				removed, err := t.Store.CleanUpDeadLetters(c.Context(), cleanup, cli.ActorOf(c))
				if err != nil {
					return err
				}
				all += removed
				if removed < event.MaxCleanup {
					break
				}
			}
			cli.DoubtProvider(c, t.Cfg, cleanup.Provider, int(all))
			return cli.Print(c, map[string]int64{"removed": all}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "removed %d dead letters\n", all)
				return err
			})
		}),
	}
	given := func() error {
		if cleanup.Before.IsZero() {
			return errors.New("want a time")
		}
		return nil
	}
	cli.AddTimeFlag(command, &cleanup.Before, given, "older-than", "how long ago (30d, 720h), or before when (RFC 3339)")
	command.Flags().StringVar(&cleanup.Provider, "provider", "", "only those of this provider")
	_ = command.MarkFlagRequired("older-than")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}
