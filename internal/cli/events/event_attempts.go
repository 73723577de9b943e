package events

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

func eventAttemptsCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "attempts ID",
		Short:   "Show the attempts to deliver one event",
		Example: "  holdfast event attempts stripe:evt_123",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error {
			id, err := t.FindEvent(c.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := t.Store.Outbox.AttemptsOf(c.Context(), id)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				if _, err := reader(t).EventDetail(c.Context(), id, false); err != nil {
					return err
				}
			}
			page := httpapi.List[deliveryapi.AttemptView]{Items: []deliveryapi.AttemptView{}}
			for _, a := range all {
				page.Items = append(page.Items, deliveryapi.WholeAttempt(a))
			}
			return cli.Print(c, page, func(w io.Writer) error {
				if len(all) == 0 {
					fmt.Fprintln(w, "no attempts yet: holdfast event show "+id)
				}
				return destination.WriteAttempts(w, all)
			})
		}),
	})
}
