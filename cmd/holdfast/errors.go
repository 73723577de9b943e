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
	var phase, class, since string
	command := &cobra.Command{
		Use:   "list",
		Short: "List the error log, newest first; a row of a storm stands for as many errors as it says",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) (err error) {
			query.Phase, query.Class = event.Phase(phase), event.Class(class)
			if query.Since, err = parseMoment(since, time.Now()); err != nil {
				return err
			}
			page, err := t.store.Errors(c.Context(), query)
			if err != nil {
				return err
			}
			return t.print(c, page, func(w io.Writer) error { return writeErrors(w, page) })
		}),
	}
	flags := command.Flags()
	flags.StringVar(&phase, "phase", "", "receive, parse, persist, upsert, dead_letter, redrive or upkeep")
	flags.StringVar(&query.Provider, "provider", "", "only those of this provider")
	flags.StringVar(&class, "class", "", "transient, rejected or failed")
	flags.StringVar(&query.Code, "code", "", "only those with this code")
	flags.StringVar(&query.EventID, "event", "", "only those of this event id")
	flags.StringVar(&since, "since", "", "only those since then: 90m, 7d, or a time")
	flags.Int64Var(&query.Before, "before", 0, "only those before the one with this ID (the next page)")
	flags.IntVar(&query.Limit, "limit", 50, "how many at most, 1 to 500")
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
