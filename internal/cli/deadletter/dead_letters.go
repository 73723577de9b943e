package deadletter

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// Command returns `holdfast dlq`.
func Command() *cobra.Command {
	return cli.Group("dlq", "List dead letters; replay, edit or discard them",
		"  holdfast dlq causes\n  holdfast dlq show 7\n  holdfast dlq replay 7 --wait",
		causesCommand(), listCommand(), showCommand(), replayCommand(),
		editCommand(), discardCommand(), reopenCommand(), deleteCommand(), cleanupCommand())
}

// anyState doesn't restrict a list.
const anyState event.DeadLetterState = "all"

func listCommand() *cobra.Command {
	var query event.DeadLetterQuery
	var about string
	state := event.DeadLetterOpen
	command := cli.Listing[event.DeadLetter, event.DeadLetterCursor]{
		Short: "List dead letters, the last failed first",
		Example: "  holdfast dlq list --provider stripe --since 24h\n" +
			"  holdfast dlq list --state all --event stripe:evt_123\n" +
			"  holdfast dlq list --json | jq '.items[].failure.code'",
		Limit: 50, Place: event.DeadLetter.Cursor,
		Read: func(
			c *cobra.Command, t *cli.Tools, limit int, after *event.DeadLetterCursor,
		) (page []event.DeadLetter, err error) {
			query.Limit, query.Before = limit, after
			if query.State = state; state == anyState {
				query.State = ""
			}
			if query.EventID, err = t.FindFiltered(c.Context(), about); err != nil {
				return nil, err
			}
			return t.Store.DeadLetters.DeadLetters(c.Context(), query)
		},
		View: func(d event.DeadLetter) any { return api.ViewDeadLetter(d) },
		Heading: []string{"ID!", "STATE", "PROVIDER", "SOURCE+", "TYPE", "STEP", "CLASS+", "CODE", "FAILURES+", "LAST FAILED/AGE~",
			"WORKFLOW+"},
		Cells: func(d event.DeadLetter) []string {
			return []string{
				strconv.FormatInt(d.ID, 10), string(d.State), d.Receipt.Provider, d.Receipt.Source, d.Receipt.Type,
				string(d.Failure.Step), string(d.Failure.Class), d.Failure.Code, strconv.Itoa(d.Failures),
				d.LastFailed.Format(time.RFC3339), d.Run.WorkflowID,
			}
		},
	}.Command()
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddTypeFlag(command, &query.Type)
	addFailureFlags(command, &query.Class, &query.Code, &query.Step, &query.Rule, &query.Subscription)
	cli.AddEventFlag(command, &about, "only its own")
	command.Flags().BoolVar(&query.Oldest, "oldest", false, "the one that failed longest ago first")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddChoiceFlag(command, &state, "state", "only those in this state", append(event.DeadLetterStates(), anyState))
	return command
}

// addFailureFlags adds the filters by what failed and why. --error-class and --error-code are old names.
func addFailureFlags(c *cobra.Command, class *event.Class, code *string, step *event.Step, rule, subscription *string) {
	cli.AddFailureFlags(c, class, code)
	cli.Alias(c, "error-class", "class")
	cli.Alias(c, "error-code", "code")
	cli.AddChoiceFlag(c, step, "step", "only those that failed at this step", event.Steps())
	c.Flags().StringVar(rule, "rule", "", "only those with an error in this field of the definition")
	c.Flags().StringVar(subscription, "subscription", "", "only those for this subscription")
}

// withNumber passes the number of the dead letter that the argument names to a command.
func withNumber(run func(*cobra.Command, *cli.Tools, int64) error) func(*cobra.Command, []string) error {
	return cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
		id, err := t.FindDeadLetter(c.Context(), args[0])
		if err != nil {
			return err
		}
		return run(c, t, id)
	})
}

func showCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: the failed step, the reason, its body",
		Long: "Show one dead letter: the failed step, the reason, its body, and what to do.\n" +
			"ID is its number, or anything that identifies its event.",
		Example: "  holdfast dlq show 7\n  holdfast dlq show stripe:evt_123",
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			d, err := t.Store.DeadLetters.DeadLetter(c.Context(), id)
			if err != nil {
				return err
			}
			return Print(c, d)
		}),
	})
}

// Print prints one dead letter.
func Print(c *cobra.Command, d event.DeadLetter) error {
	var api api.API
	detail := api.DeadLetterDetail(d, false)
	detail.Body = detail.Body.Beginning()
	return cli.Print(c, detail, func(w io.Writer) error { return writeDeadLetter(w, d) })
}

// WriteWhole writes one dead letter, like Print as text.
func WriteWhole(ctx context.Context, w io.Writer, t *cli.Tools, id int64) error {
	d, err := t.Store.DeadLetters.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	return writeDeadLetter(w, d)
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
		"rule", d.Failure.Rule(),
		"reason", d.Failure.Message,
		"attempts", strconv.Itoa(d.Failure.Attempts),
		"failures", strconv.Itoa(d.Failures),
		"first failed", d.FirstFailed.Format(time.RFC3339Nano),
		"last failed", d.LastFailed.Format(time.RFC3339Nano),
		"automatic attempts", automaticAttempts(d),
		"resolved by run", d.ResolvedRun,
		"resolved as duplicate of", d.DuplicateOf,
		"discarded by", d.DiscardedBy,
		"discarded because", d.DiscardReason,
		"replaced by event", d.ReplacedBy,
		"replaces event", d.Receipt.Replaces,
	)
	if err != nil {
		return err
	}
	if err := cli.WriteBody(w, d.Receipt.ID, d.Body); err != nil {
		return err
	}
	_, err = io.WriteString(w, advice(d))
	return err
}

// advice returns the next step for a dead letter; "" if none is needed.
func advice(d event.DeadLetter) string {
	replay := fmt.Sprintf("holdfast dlq replay %d --wait\n", d.ID)
	switch waits := d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted; {
	case d.ReplacedBy != "":
		return fmt.Sprintf("\nReplaced by another event: holdfast event show %s\n", d.ReplacedBy)
	case d.State == event.DeadLetterDiscarded:
		return fmt.Sprintf("\nTo undo that: holdfast dlq reopen %d\n", d.ID)
	case !waits:
		return ""
	case d.Failure.Class == event.ClassInDoubt || d.Failure.Class == event.ClassConflict:
		return "\nCompare it with the event that the reason names (holdfast event show ID), then\n" +
			"  accept it as a separate event:  " + replay +
			fmt.Sprintf("  or discard it:                  holdfast dlq discard %d --reason WHY\n", d.ID)
	case d.Failure.EndedByOperator():
		return "\nAn operator ended its run, so it isn't retried automatically:\n" +
			"  replay it:      " + replay +
			fmt.Sprintf("  or discard it:  holdfast dlq discard %d --reason WHY\n", d.ID)
	case d.Failure.Class != event.ClassRejected || d.Failure.Step == event.StepDeliver:
		return "\nOnce the cause is fixed: " + replay
	}
	return fmt.Sprintf("\nA replay alone would fail again, because of the event or its definition.\n"+
		"  correct the definition, then:  %s"+
		"  or replay with another body:   holdfast dlq edit %d --file FILE\n"+
		"  or discard the event:          holdfast dlq discard %d --reason WHY\n", replay, d.ID, d.ID)
}

func automaticAttempts(d event.DeadLetter) string {
	switch {
	case d.NextReplayAt != nil:
		return fmt.Sprintf("%d, the next one from %s", d.AutoAttempts, d.NextReplayAt.Format(time.RFC3339))
	case d.AutoAttempts > 0:
		return strconv.Itoa(d.AutoAttempts)
	default:
		return ""
	}
}

// WriteShort lists an event's dead letters, if there are any.
func WriteShort(w io.Writer, letters []api.DeadLetterView) error {
	if len(letters) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "DEAD LETTER!", "STATE", "STEP", "CODE", "REASON")
	for _, d := range letters {
		table.Row(strconv.FormatInt(d.ID, 10), string(d.State), string(d.Failure.Step), d.Failure.Code, cli.Shorten(d.Failure.Message))
	}
	return table.Flush()
}

func causesCommand() *cobra.Command {
	var provider string
	command := cli.Listing[operation.Cause, string]{
		Short:   "Group waiting dead letters by cause",
		Example: "  holdfast dlq causes\n  holdfast dlq causes --provider stripe --json | jq '.items[].code'",
		Read: func(c *cobra.Command, t *cli.Tools, _ int, _ *string) ([]operation.Cause, error) {
			return t.Store.DeadLetters.Causes(c.Context(), provider)
		},
		Heading: []string{"COUNT", "OPEN+", "EXHAUSTED+", "REPLAYING+", "PROVIDER", "STEP", "SUBSCRIPTION", "CLASS+", "CODE", "RULE",
			"OLDEST+~", "NEWEST/AGE~", "EXAMPLE!"},
		Cells: func(c operation.Cause) []string {
			return []string{
				strconv.FormatInt(c.Count(), 10), strconv.FormatInt(c.Open, 10), strconv.FormatInt(c.Exhausted, 10),
				strconv.FormatInt(c.Replaying, 10), c.Provider, string(c.Step), c.Subscription, string(c.Class), c.Code, c.Rule,
				c.Oldest.Format(time.RFC3339), c.Newest.Format(time.RFC3339), strconv.FormatInt(c.Example, 10),
			}
		},
	}.Command()
	command.Use = "causes"
	cli.AddProviderFlag(command, &provider)
	return command
}
