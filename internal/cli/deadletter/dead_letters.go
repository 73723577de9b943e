package deadletter

import (
	"fmt"
	"io"
	"net/url"
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
	state := event.DeadLetterOpen
	command := cli.Page[api.DeadLetterView]{
		Short: "List dead letters, the last failed first", Route: "/dead-letters", Limit: 50,
		Example: "  holdfast dlq list --provider stripe --since 24h\n" +
			"  holdfast dlq list --state all --event stripe:evt_123\n" +
			"  holdfast dlq list --json | jq '.items[].failure.code'",
		Query: func(_ *cobra.Command, query url.Values) error {
			if query.Set("state", string(state)); state == anyState {
				query.Del("state")
			}
			return nil
		},
		Heading: []string{"ID!", "STATE", "PROVIDER", "SOURCE+", "TYPE", "STEP", "CLASS+", "CODE", "FAILURES+", "LAST FAILED/AGE~",
			"WORKFLOW+"},
		Cells: func(d api.DeadLetterView) []string {
			return []string{
				strconv.FormatInt(d.ID, 10), string(d.State), d.Provider, d.Source, d.Type, string(d.Failure.Step),
				string(d.Failure.Class), d.Failure.Code, strconv.Itoa(d.Failures), d.LastFailed.Format(time.RFC3339), d.Run.WorkflowID,
			}
		},
	}.Command()
	cli.AddProviderFilters(command)
	cli.AddTypeFilter(command)
	addFailureFlags(command, new(event.Class), new(string), new(event.Step), new(string), new(string))
	for _, name := range []string{"class", "code", "step", "rule", "subscription"} {
		cli.AsFilter(command, name, name)
	}
	cli.AddEventFilter(command)
	command.Flags().Bool("oldest", false, "the one that failed longest ago first")
	cli.AsFilter(command, "oldest", "oldest")
	cli.AddPeriodFilters(command)
	cli.AddChoiceFlag(command, &state, "state", "only those in this state", append(event.DeadLetterStates(), anyState))
	return command
}

// addFailureFlags adds the filters by what failed and why.
func addFailureFlags(c *cobra.Command, class *event.Class, code *string, step *event.Step, rule, subscription *string) {
	cli.AddFailureFlags(c, class, code)
	cli.AddChoiceFlag(c, step, "step", "only those that failed at this step", event.Steps())
	c.Flags().StringVar(rule, "rule", "", "only those with an error in this field of the definition")
	c.Flags().StringVar(subscription, "subscription", "", "only those for this subscription")
}

// withNumber passes the number of the dead letter that the argument names to a command.
func withNumber(c *cobra.Command, run func(*cobra.Command, *cli.API, string) error) *cobra.Command {
	return cli.WithAPI(c, func(c *cobra.Command, a *cli.API, args []string) error {
		id, err := a.FindDeadLetter(c.Context(), args[0])
		if err != nil {
			return err
		}
		return run(c, a, id)
	})
}

func showCommand() *cobra.Command {
	return cli.WithJSON(withNumber(&cobra.Command{
		Use:   "show ID",
		Short: "Show one dead letter: the failed step, the reason, its body",
		Long: "Show one dead letter: the failed step, the reason, its body, and what to do.\n" +
			"ID is its number, or anything that identifies its event.",
		Example: "  holdfast dlq show 7\n  holdfast dlq show stripe:evt_123",
	}, func(c *cobra.Command, a *cli.API, id string) error {
		return cli.Show(c, a, cli.Path("dead-letters", id), nil, write)
	}))
}

// advice returns the next step for a dead letter; "" if none is needed.
func advice(d api.DeadLetterView) string {
	replay := fmt.Sprintf("holdfast dlq replay %d --wait\n", d.ID)
	switch waits := d.State == event.DeadLetterOpen || d.State == event.DeadLetterExhausted; {
	case d.ReplacedBy != "":
		return fmt.Sprintf("\nReplaced by another event: holdfast event show %s\n", d.ReplacedBy)
	case d.State == event.DeadLetterDiscarded:
		return fmt.Sprintf("\nTo undo that: holdfast dlq reopen %d\n", d.ID)
	case !waits:
		return ""
	case d.Failure.Code == event.CodeBodyLost:
		return "\nIts body is lost, so a replay would fail again.\n" +
			"  have the provider send it again: the event then resolves this dead letter\n" +
			fmt.Sprintf("  or replay it with a body:  holdfast dlq edit %d --file FILE\n", d.ID) +
			fmt.Sprintf("  or discard it:             holdfast dlq discard %d --reason WHY\n", d.ID)
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

func automaticAttempts(d api.DeadLetterView) string {
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
	command := cli.Page[operation.Cause]{
		Short: "Group waiting dead letters by cause", Route: "/dead-letters/causes",
		Example: "  holdfast dlq causes\n  holdfast dlq causes --provider stripe --json | jq '.items[].code'",
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
	cli.AddProviderFilter(command)
	return command
}
