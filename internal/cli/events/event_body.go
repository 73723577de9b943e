package events

import (
	"errors"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func eventBodyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "body ID",
		Short: "Write the body of one event, byte for byte",
		Long: "Write the body of one event, byte for byte, to a file or a pipe. On a terminal, control\n" +
			"characters are escaped. ID is anything that identifies the event.",
		Example: "  holdfast event body stripe:evt_123 > body.json\n  holdfast event body evt_123 | jq .data",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := t.FindEvent(c.Context(), args[0])
			if err != nil {
				return err
			}
			detail, err := reader(t).EventDetail(c.Context(), id, false)
			if errors.Is(err, event.ErrNotFound) {
				return cli.NotFound("no body of event %s: `holdfast event show %s` shows what is known of it", id, id)
			}
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			if cli.IsTerminal(out) {
				return cli.WriteWholeBody(out, detail.Body.Raw)
			}
			_, err = out.Write(detail.Body.Raw)
			return err
		}),
	}
}
