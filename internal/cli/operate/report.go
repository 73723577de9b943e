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
		Short: "Say what came, failed and waits, beside the time before",
		Long: "Say what came, what failed and what waits, beside the time before. The same is sent to the channels of\n" +
			"HOLDFAST_NOTIFY_URLS, as often as HOLDFAST_NOTIFY_REPORT says.",
		Example: "  holdfast report\n  holdfast report --window 168h --json | jq .received",
		RunE: cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error {
			if window <= 0 {
				return cli.Misuse(c, errors.New("--window must be more than 0"))
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
