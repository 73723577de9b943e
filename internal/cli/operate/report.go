package operate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/installation"
)

// ReportCommand returns `holdfast report`.
func ReportCommand() *cobra.Command {
	var window time.Duration
	command := &cobra.Command{
		Use:   "report",
		Short: "Summarize a period and compare it with the previous one",
		Long: "Summarize a period and compare it with the previous one: events, failures, backlogs. The same report is sent to\n" +
			"the channels of HOLDFAST_NOTIFY_URLS, every HOLDFAST_NOTIFY_REPORT.",
		Example: "  holdfast report\n  holdfast report --window 168h --json | jq .received",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if window <= 0 {
				return cli.UsageError(c, errors.New("--window must be more than 0"))
			}
			until := time.Now().UTC()
			report, err := installation.NewStatistics(t.Cfg, t.Store, t.Temporal).Report(c.Context(), until.Add(-window), until)
			if err != nil {
				return err
			}
			return cli.Print(c, report, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, report.Text())
				return err
			})
		}),
	}
	command.Flags().DurationVar(&window, "window", 24*time.Hour, "how far back events and errors are counted")
	cli.AddJSONFlag(command)
	return command
}
