package events

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func eventBodyCommand() *cobra.Command {
	return cli.WithAPI(&cobra.Command{
		Use:   "body ID",
		Short: "Write the body of one event, byte for byte",
		Long: "Write the body of one event, byte for byte, to a file or a pipe. On a terminal, control\n" +
			"characters are escaped. ID is anything that identifies the event.",
		Example: "  holdfast event body stripe:evt_123 > body.json\n  holdfast event body evt_123 | jq .data",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		id, err := a.FindEvent(c.Context(), args[0])
		if err != nil {
			return err
		}
		response, err := a.Get(c.Context(), cli.Path("events", id, "body"), nil, "application/octet-stream")
		if errors.Is(err, event.ErrNotFound) {
			return cli.NotFound("no body of event %s: `holdfast event show %s` shows what is known of it", id, id)
		}
		if err != nil {
			return err
		}
		defer response.Body.Close()
		out := c.OutOrStdout()
		if !cli.IsTerminal(out) {
			_, err = io.Copy(out, response.Body)
			return err
		}
		body, err := io.ReadAll(response.Body)
		return errors.Join(err, cli.WriteWholeBody(out, body))
	})
}
