package deadletter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

func discardCommand() *cobra.Command {
	command := changeCommand("discard ID --reason WHY",
		"Discard an event, and undo its changes of entities",
		"  holdfast dlq discard 7 --reason 'a test of the sender'",
		"discarded dead letter %s\n", http.MethodPost, "discard")
	_ = command.MarkFlagRequired(cli.ReasonFlag)
	cli.AddYesFlag(command, "do not ask")
	discard := command.RunE
	command.RunE = func(c *cobra.Command, args []string) error {
		if cli.Asks(c) && !cli.Confirm(c, "Discard dead letter "+args[0]+", and undo its changes of entities?") {
			return errors.New("nothing was discarded (--yes discards without asking)")
		}
		return discard(c, args)
	}
	return command
}

func reopenCommand() *cobra.Command {
	return changeCommand("reopen ID", "Undo a discard: the dead letter is open again",
		"  holdfast dlq reopen 7 --reason 'it was real'",
		"reopened dead letter %[1]s: holdfast dlq replay %[1]s runs it\n", http.MethodPost, "reopen")
}

func deleteCommand() *cobra.Command {
	return changeCommand("delete ID", "Delete a resolved or discarded dead letter",
		"  holdfast dlq delete 7", "deleted dead letter %s\n", http.MethodDelete)
}

// changeCommand returns a command that changes a dead letter and confirms it. As JSON it prints the changed dead letter, or only
// its number if it was deleted.
func changeCommand(use, short, example, done, method string, verb ...string) *cobra.Command {
	command := withNumber(&cobra.Command{Use: use, Short: short, Example: example},
		func(c *cobra.Command, a *cli.API, id string) error {
			path := cli.Path(append([]string{"dead-letters", id}, verb...)...)
			changed := json.RawMessage(`{"id":` + id + `}`)
			if err := a.Change(c.Context(), method, path, cli.Reasoned(c), &changed); err != nil {
				return err
			}
			return cli.Print(c, changed, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, done, id)
				return err
			})
		})
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

func cleanupCommand() *cobra.Command {
	var before time.Time
	var cleanup api.Cleanup
	command := cli.WithAPI(&cobra.Command{
		Use:   "cleanup --older-than AGE",
		Short: "Delete old resolved and discarded dead letters",
		Example: "  holdfast dlq cleanup --older-than 30d\n" +
			"  holdfast dlq cleanup --older-than 2026-01-01 --provider stripe",
	}, func(c *cobra.Command, a *cli.API, _ []string) error {
		cleanup.Reasoned = cli.Reasoned(c)
		all := api.CleanedUp{More: true}
		for all.More {
			cleanup.OlderThan = event.Duration(time.Since(before))
			var one api.CleanedUp
			if err := a.Change(c.Context(), http.MethodPost, "/dead-letters/cleanup", cleanup, &one); err != nil {
				return err
			}
			all = api.CleanedUp{Removed: all.Removed + one.Removed, More: one.More}
		}
		cli.WarnUnknownProvider(c, a.Cfg, cleanup.Provider, int(all.Removed))
		return cli.Print(c, all, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "removed "+strconv.FormatInt(all.Removed, 10)+" dead letters")
			return err
		})
	})
	given := func() error {
		if before.IsZero() {
			return errors.New("use a time")
		}
		return nil
	}
	cli.AddTimeFlag(command, &before, given, "older-than", "closed before this time")
	cli.AddProviderFlag(command, &cleanup.Provider)
	_ = command.MarkFlagRequired("older-than")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}
