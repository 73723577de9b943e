package operate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/cli"
)

// ErrorCommand returns `holdfast error`.
func ErrorCommand() *cobra.Command {
	group := cli.Group("error", "List and show errors, including ones that a retry resolved",
		"  holdfast error list --since 1h\n  holdfast error show 12",
		errorListCommand(), errorShowCommand())
	group.Aliases = []string{"errors"}
	return group
}

func errorShowCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use: "show NUMBER", Short: "Show one entry of the error log", Example: "  holdfast error show 12", Args: cobra.ExactArgs(1),
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			n, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || n < 1 {
				return cli.UsageError(c, fmt.Errorf("invalid number %q: see `holdfast error list`", args[0]))
			}
			rows, err := t.Store.Errors.Errors(c.Context(), oversight.ErrorQuery{Before: n + 1, Limit: 1})
			if err == nil && (len(rows) == 0 || rows[0].ID != n) {
				err = cli.NotFound("no error %d: see `holdfast error list`", n)
			}
			if err != nil {
				return err
			}
			return cli.Print(c, rows[0], func(w io.Writer) error { return writeError(w, rows[0]) })
		}),
	})
}

func writeError(w io.Writer, e oversight.ErrorEntry) error {
	fields := []string{
		"error", strconv.FormatInt(e.ID, 10), "at", e.At.Format(time.RFC3339Nano), "phase", string(e.Phase),
		"provider", e.Provider, "event", e.EventID, "class", string(e.Class), "code", e.Code,
		"stands for", strconv.FormatInt(e.Count, 10), "message", e.Message,
	}
	for _, name := range slices.Sorted(maps.Keys(e.Meta)) {
		fields = append(fields, name, e.Meta[name])
	}
	return cli.WriteFields(w, fields...)
}

func errorListCommand() *cobra.Command {
	var query oversight.ErrorQuery
	var about string
	command := cli.Listing[oversight.ErrorEntry, int64]{
		Short: "List the error log, newest first",
		Example: "  holdfast error list --provider stripe --phase parse --since 1h\n" +
			"  holdfast error list --event stripe:evt_123\n" +
			"  holdfast error list --json | jq -r '.items[].code' | sort | uniq -c",
		Limit: 50, Place: func(e oversight.ErrorEntry) int64 { return e.ID },
		Read: func(c *cobra.Command, t *cli.Tools, limit int, after *int64) (_ []oversight.ErrorEntry, err error) {
			query.Limit, query.Before = limit, cli.LastID(after)
			if query.EventID, err = t.FindFiltered(c.Context(), about); err != nil {
				return nil, err
			}
			return t.Store.Errors.Errors(c.Context(), query)
		},
		Heading: []string{"ID!", "AT/AGE~", "PHASE", "PROVIDER", "CLASS+", "CODE", "COUNT", "EVENT+", "MESSAGE"},
		Cells: func(e oversight.ErrorEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), string(e.Phase), e.Provider, string(e.Class), e.Code,
				strconv.FormatInt(e.Count, 10), e.EventID, cli.Shorten(e.Message),
			}
		},
	}.Command()
	command.Long = "List the error log, newest first. A row can stand for several\nequal errors: see COUNT."
	cli.AddChoiceFlag(command, &query.Phase, "phase", "only those of this phase", event.Phases())
	cli.AddProviderFlags(command, &query.Provider, &query.Source)
	cli.AddFailureFlags(command, &query.Class, &query.Code)
	cli.AddEventFlag(command, &about, "only its own")
	cli.AddPeriodFlags(command, &query.Since, &query.Until)
	return command
}
