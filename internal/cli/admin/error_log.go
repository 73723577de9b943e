package admin

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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
	return cli.Group("error", "List and show errors, including ones that a retry resolved",
		"  holdfast error list --since 1h\n  holdfast error show 12",
		errorListCommand(), errorShowCommand())
}

func errorShowCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use: "show NUMBER", Short: "Show one entry of the error log", Example: "  holdfast error show 12", Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		err := cli.Show(c, a, cli.Path("errors", args[0]), nil, writeError)
		var refused *cli.RefusalError
		switch {
		case errors.Is(err, event.ErrNotFound):
			return cli.NotFound("no error %s: see `holdfast error list`", args[0])
		case errors.As(err, &refused) && refused.Status == http.StatusBadRequest:
			return cli.UsageError(c, fmt.Errorf("invalid number %q: see `holdfast error list`", args[0]))
		}
		return err
	}))
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
	command := cli.Page[oversight.ErrorEntry]{
		Short: "List the error log, newest first", Route: "/errors", Limit: 50,
		Example: "  holdfast error list --provider stripe --phase parse --since 1h\n" +
			"  holdfast error list --event stripe:evt_123\n" +
			"  holdfast error list --json | jq -r '.items[].code' | sort | uniq -c",
		Heading: []string{"ID!", "AT/AGE~", "PHASE", "PROVIDER", "CLASS+", "CODE", "COUNT", "EVENT+", "MESSAGE"},
		Cells: func(e oversight.ErrorEntry) []string {
			return []string{
				strconv.FormatInt(e.ID, 10), e.At.Format(time.RFC3339), string(e.Phase), e.Provider, string(e.Class), e.Code,
				strconv.FormatInt(e.Count, 10), e.EventID, cli.Shorten(e.Message),
			}
		},
	}.Command()
	command.Long = "List the error log, newest first. A row can stand for several\nequal errors: see COUNT."
	cli.AddChoiceFilter(command, "phase", "phase", "only those of this phase", event.Phases())
	cli.AddProviderFilters(command)
	cli.AddChoiceFilter(command, "class", "class", "only those of this class", event.Classes())
	cli.AddFilter(command, "code", "code", "only those with this code")
	cli.AddEventFilter(command)
	cli.AddPeriodFilters(command)
	return command
}
