package main

import (
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
)

func conflictsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "conflicts",
		Short:   "Show events that were dropped because another one has their key",
		GroupID: groupOperate,
	}
	command.AddCommand(conflictsListCommand())
	return command
}

func conflictsListCommand() *cobra.Command {
	var query event.ConflictQuery
	command := &cobra.Command{
		Use:   "list",
		Short: "List conflicts, the last seen first: whose key it is, both fingerprints, how often",
		Args:  cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			if err := checkSource(query.Provider, query.Source); err != nil {
				return misuse(c, err)
			}
			page, err := t.store.Conflicts(c.Context(), query)
			if err != nil {
				return err
			}
			doubtProvider(c, t.cfg, query.Provider, len(page))
			return t.print(c, page, func(w io.Writer) error { return writeConflicts(w, page) })
		}),
	}
	command.Flags().StringVar(&query.Provider, "provider", "", "only those of this provider")
	addSourceFlag(command, &query.Source)
	command.Flags().StringVar(&query.Key, "key", "", "only those of this key")
	addPeriodFlags(command, &query.Since, &query.Until)
	addPageFlag(command, &query.Before, "before", "only those before the one with this number (the next page)")
	addLimitFlag(command, &query.Limit, 50)
	addJSONFlag(command)
	return command
}

func writeConflicts(w io.Writer, page []event.Conflict) error {
	table := newTable(w, "ID", "LAST SEEN", "TIMES", "PROVIDER", "SOURCE", "KEY", "OWNER", "OWNER'S FINGERPRINT", "FINGERPRINT",
		"FIRST SEEN")
	for _, c := range page {
		table.row(strconv.FormatInt(c.ID, 10), c.LastSeen.Format(time.RFC3339), strconv.FormatInt(c.Times, 10), c.Provider, c.Source,
			c.Key, c.Owner, c.OwnerFingerprint, c.Fingerprint, c.FirstSeen.Format(time.RFC3339))
	}
	return table.flush()
}
