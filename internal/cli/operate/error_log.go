package operate

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// ErrorCommand is `holdfast errors`.
func ErrorCommand() *cobra.Command {
	return cli.Group("errors", "List what went wrong, in every phase, overcome or not",
		errorListCommand())
}

func errorListCommand() *cobra.Command {
	var query event.ErrorQuery
	command := cli.ListCommand("List the error log, newest first; a row of a storm stands for as many errors as it says",
		func(c *cobra.Command, t *cli.Tools) ([]event.ErrorEntry, error) {
			return t.Store.Errors(c.Context(), query)
		},
		[]string{"ID", "AT", "PHASE", "PROVIDER", "CLASS", "CODE", "COUNT", "EVENT", "MESSAGE"},
		func(e event.ErrorEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), string(e.Phase), e.Provider, string(e.Class), e.Code,
				strconv.FormatInt(e.Count, 10), e.EventID, cli.Shorten(e.Message),
			}
		})
	flags := command.Flags()
	cli.AddChoiceFlag(command, &query.Phase, "phase", "only those of this phase", event.Phases())
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddChoiceFlag(command, &query.Class, "class", "only those of this class", event.Classes())
	flags.StringVar(&query.Code, "code", "", "only those with this code")
	cli.AddEventFlag(command, &query.EventID, "event", "only those of the event with this ID")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the one with this ID (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	return command
}
