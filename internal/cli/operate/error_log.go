package operate

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// ErrorCommand is `holdfast errors`.
func ErrorCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "errors",
		Short:   "List what went wrong, in every phase, overcome or not",
		GroupID: cli.GroupOperate,
	}
	command.AddCommand(errorListCommand())
	return command
}

func errorListCommand() *cobra.Command {
	var query event.ErrorQuery
	command := &cobra.Command{
		Use:   "list",
		Short: "List the error log, newest first; a row of a storm stands for as many errors as it says",
		Args:  cobra.NoArgs,
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if err := cli.CheckSource(query.Provider, query.Source); err != nil {
				return cli.Misuse(c, err)
			}
			page, err := t.Store.Errors(c.Context(), query)
			if err != nil {
				return err
			}
			cli.DoubtProvider(c, t.Cfg, query.Provider, len(page))
			return t.Print(c, page, func(w io.Writer) error { return writeErrors(w, page) })
		}),
	}
	flags := command.Flags()
	cli.AddChoiceFlag(command, &query.Phase, "phase", "only those of this phase", event.Phases())
	flags.StringVar(&query.Provider, "provider", "", "only those of this provider")
	cli.AddSourceFlag(command, &query.Source)
	cli.AddChoiceFlag(command, &query.Class, "class", "only those of this class", event.Classes())
	flags.StringVar(&query.Code, "code", "", "only those with this code")
	cli.AddEventFlag(command, &query.EventID, "event", "only those of the event with this ID")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	cli.AddPageFlag(command, &query.Before, "before", "only those before the one with this ID (the next page)")
	cli.AddLimitFlag(command, &query.Limit, 50)
	cli.AddJSONFlag(command)
	return command
}

func writeErrors(w io.Writer, page []event.ErrorEntry) error {
	table := cli.NewTable(w, "ID", "AT", "PHASE", "PROVIDER", "CLASS", "CODE", "COUNT", "EVENT", "MESSAGE")
	for _, e := range page {
		table.Row(strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), string(e.Phase), e.Provider, string(e.Class), e.Code,
			strconv.FormatInt(e.Count, 10), e.EventID, cli.Shorten(e.Message))
	}
	return table.Flush()
}
