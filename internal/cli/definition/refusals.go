package definition

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/operator/httpapi"
)

func refusalsCommand() *cobra.Command {
	var port cli.APIFlags
	command := &cobra.Command{
		Use:   "refusals [PROVIDER]",
		Short: "Show why a running ingress has refused requests",
		Long: "Show why a running ingress has refused requests in the last hour: the causes, what\n" +
			"to do, and the last requests.",
		Example: "  holdfast provider refusals\n  holdfast provider refusals stripe --json | jq '.items[].causes'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			api, err := port.API(c, cfg)
			if err != nil {
				return err
			}
			query := url.Values{}
			if len(args) > 0 {
				query.Set("provider", args[0])
			}
			var found httpapi.List[oversight.ProviderRefusals]
			if err := api.Read(c.Context(), "/refusals", query, &found); err != nil {
				return err
			}
			if len(args) > 0 {
				cli.WarnUnknownProvider(c, cfg, args[0], len(found.Items))
			}
			return cli.Print(c, found, func(w io.Writer) error { return writeRefusals(w, found.Items) })
		},
	}
	port.Add(command)
	cli.AddJSONFlag(command)
	return command
}

func writeRefusals(w io.Writer, all []oversight.ProviderRefusals) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	for i, of := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %d refused in the last hour\n", cli.Printable(of.Provider), of.Count)
		for _, cause := range of.Causes {
			fmt.Fprintf(w, "  %6d  %s: %s\n          %s\n", cause.Count, cause.Cause, cause.Means, cause.Next)
		}
		last := cli.NewTable(w, "AT/AGE~", "CAUSE", "FOUND", "FROM", "BODY+", "HEADERS+")
		for _, r := range of.Last {
			last.Row(r.At.Format(time.RFC3339), r.Cause, r.Detail, r.Address, bodyOf(r), headersOf(r))
		}
		if err := cli.FlushAll(last); err != nil {
			return err
		}
	}
	return nil
}

// bodyOf returns a body's length and the beginning of its digest.
func bodyOf(r oversight.Refusal) string {
	text := strconv.Itoa(r.BodyBytes) + " B"
	if r.BodySHA256 != "" {
		text += " " + r.BodySHA256[:min(12, len(r.BodySHA256))]
	}
	return text
}

func headersOf(r oversight.Refusal) string {
	text := strings.Join(r.Headers, " ")
	if r.OtherHeaders > 0 {
		text += fmt.Sprintf(" and %d others", r.OtherHeaders)
	}
	return text
}
