package deadletter

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func discardCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "discard ID --reason WHY",
		Short: "Give an event up: no attempt processes it any more, and what it did to entities is taken back",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.Store.DiscardDeadLetter(c.Context(), id, cli.ActorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "discarded dead letter %d\n", id)
			return err
		}),
	}
	cli.AddReasonFlag(command)
	_ = command.MarkFlagRequired(cli.ReasonFlag)
	return command
}

func reopenCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "reopen ID",
		Short: "Take a discard back: the dead letter is open again, and can be replayed",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.Store.ReopenDeadLetter(c.Context(), id, cli.ActorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "reopened dead letter %d: holdfast dlq replay %d runs it\n", id, id)
			return err
		}),
	}
	cli.AddReasonFlag(command)
	return command
}

func deleteCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "delete ID",
		Short: "Remove a dead letter that is resolved or discarded",
		Args:  cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := deadLetterID(args[0])
			if err != nil {
				return err
			}
			if err := t.Store.DeleteDeadLetter(c.Context(), id, cli.ActorOf(c)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "deleted dead letter %d\n", id)
			return err
		}),
	}
	cli.AddReasonFlag(command)
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
	cli.AddTimeFlag(command, &cleanup.Before, given, "older-than", "how long ago (30d, 720h), or before when (RFC 3339)")
	command.Flags().StringVar(&cleanup.Provider, "provider", "", "only those of this provider")
	_ = command.MarkFlagRequired("older-than")
	cli.AddReasonFlag(command)
	return command
}
