package main

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func errorCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "errors",
		Short:   "List what went wrong, in every phase, overcome or not",
		GroupID: groupOperate,
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
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			page, err := t.store.Errors(c.Context(), query)
			if err != nil {
				return err
			}
			doubtProvider(c, t.cfg, query.Provider, len(page))
			return t.print(c, page, func(w io.Writer) error { return writeErrors(w, page) })
		}),
	}
	flags := command.Flags()
	addChoiceFlag(command, &query.Phase, "phase", "only those of this phase", event.Phases())
	flags.StringVar(&query.Provider, "provider", "", "only those of this provider")
	addChoiceFlag(command, &query.Class, "class", "only those of this class", event.Classes())
	flags.StringVar(&query.Code, "code", "", "only those with this code")
	addEventFlag(command, &query.EventID, "event", "only those of the event with this ID")
	addPeriodFlags(command, &query.Since, &query.Until)
	addPageFlag(command, &query.Before, "before", "only those before the one with this ID (the next page)")
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

func writeErrors(w io.Writer, page []event.ErrorEntry) error {
	table := newTable(w, "ID", "AT", "PHASE", "PROVIDER", "CLASS", "CODE", "COUNT", "EVENT", "MESSAGE")
	for _, e := range page {
		table.row(strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), string(e.Phase), e.Provider, string(e.Class), e.Code,
			strconv.FormatInt(e.Count, 10), e.EventID, shorten(e.Message))
	}
	return table.flush()
}
