package deadletter

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/event"
	"holdfast/internal/cli"
)

// Command is `holdfast dlq`.
func Command() *cobra.Command {
	return cli.Group("dlq", "List, show, replay, redrive, edit, discard, reopen and remove dead letters",
		listCommand(), showCommand(), replayCommand(), startCommand(),
		editCommand(), discardCommand(), reopenCommand(),
		deleteCommand(), cleanupCommand())
}

// anyState does not restrict a list.
const anyState event.DeadLetterState = "all"

func listCommand() *cobra.Command {
	var query event.DeadLetterQuery
	state := event.DeadLetterOpen
	command := cli.ListCommand("List dead letters, the last failed first",
		func(c *cobra.Command, t *cli.Tools) ([]event.DeadLetter, error) {
			if query.State = state; state == anyState {
				query.State = ""
			}
			return t.Store.DeadLetters(c.Context(), query)
		},
		[]string{"ID", "STATE", "PROVIDER", "SOURCE", "TYPE", "STEP", "CLASS", "CODE", "FAILURES", "LAST FAILED",
			"WORKFLOW"},
		func(d event.DeadLetter) []string {
			return []string{
				strconv.FormatInt(d.ID, 10), string(d.State), d.Receipt.Provider, d.Receipt.Source, d.Receipt.Type,
				string(d.Failure.Step), string(d.Failure.Class), d.Failure.Code, strconv.Itoa(d.Failures),
				d.LastFailed.Format(time.RFC3339), d.Run.WorkflowID,
			}
		})
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	command.Flags().StringVar(&query.Type, "type", "", "only those of this type")
	cli.AddChoiceFlag(command, &query.Class, "error-class", "only those of this class", event.Classes())
	addCodeFlag(command, &query.Code)
	cli.AddChoiceFlag(command, &query.Step, "step", "only those that failed at this step", event.Steps())
	cli.AddEventFlag(command, &query.EventID, "event", "only those of the event with this ID")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddChoiceFlag(command, &state, "state", "only those in this state", append(event.DeadLetterStates(), anyState))
	cli.AddLimitFlag(command, &query.Limit, 50)
	return command
}

// addCodeFlag adds --error-code; --code is what a redrive called it before.
func addCodeFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "error-code", "", "only those of this code")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "code" {
			name = "error-code"
		}
		return pflag.NormalizedName(name)
	})
}

// withNumber gives a command the number of the dead letter that its argument is.
func withNumber(run func(*cobra.Command, *cli.Tools, int64) error) func(*cobra.Command, []string) error {
	return cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return cli.Misuse(c, fmt.Errorf("%q is not the number of a dead letter: `holdfast dlq list` has them", args[0]))
		}
		return run(c, t, id)
	})
}

func showCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: what failed, why, since when, and the body",
		Args:  cobra.ExactArgs(1),
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			d, err := t.Store.DeadLetter(c.Context(), id)
			if err != nil {
				return err
			}
			return Print(c, d)
		}),
	}
	cli.AddJSONFlag(command)
	return command
}

// Print shows one dead letter.
func Print(c *cobra.Command, d event.DeadLetter) error {
	return cli.Print(c, struct {
		event.DeadLetter
		RawBody []byte `json:"raw_body"`
	}{d, d.Body}, func(w io.Writer) error { return writeDeadLetter(w, d) })
}

func writeDeadLetter(w io.Writer, d event.DeadLetter) error {
	err := cli.WriteFields(w,
		"dead letter", strconv.FormatInt(d.ID, 10)+" ("+string(d.State)+")",
		"event", d.Receipt.ID,
		"workflow", d.Run.WorkflowID,
		"run", d.Run.RunID,
		"provider", d.Receipt.Provider,
		"source", d.Receipt.Source,
		"type", d.Receipt.Type,
		"received", d.Receipt.ReceivedAt.Format(time.RFC3339Nano),
		"failed at step", fmt.Sprintf("%s (%s, %s)", d.Failure.Step, d.Failure.Class, d.Failure.Code),
		"reason", d.Failure.Message,
		"attempts", strconv.Itoa(d.Failure.Attempts),
		"failures", strconv.Itoa(d.Failures),
		"first failed", d.FirstFailed.Format(time.RFC3339Nano),
		"last failed", d.LastFailed.Format(time.RFC3339Nano),
		"automatic attempts", automaticAttempts(d),
		"resolved by run", d.ResolvedRun,
		"discarded by", d.DiscardedBy,
		"discarded because", d.DiscardReason,
		"replaced by event", d.ReplacedBy,
		"replaces event", d.Receipt.Replaces,
	)
	if err != nil {
		return err
	}
	if err := cli.WriteBody(w, d.Body); err != nil {
		return err
	}
	if d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted {
		_, err = fmt.Fprintf(w, "\nOnce the cause is gone: holdfast dlq replay %d --wait\n", d.ID)
	}
	return err
}

func automaticAttempts(d event.DeadLetter) string {
	switch {
	case d.NextRedriveAt != nil:
		return fmt.Sprintf("%d, the next one from %s", d.AutoAttempts, d.NextRedriveAt.Format(time.RFC3339))
	case d.AutoAttempts > 0:
		return strconv.Itoa(d.AutoAttempts)
	default:
		return ""
	}
}
