package admin

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
	"holdfast/internal/word"
)

// watchEvery is the refresh interval of `stats --watch`.
const watchEvery = 2 * time.Second

// StatsCommand returns `holdfast stats`.
func StatsCommand() *cobra.Command {
	var watch bool
	command := cli.WithAPI(&cobra.Command{
		Use:     "stats",
		Short:   "Count events, dead letters, errors and backlogs",
		Example: "  holdfast stats --watch\n  holdfast stats --window 24h --json | jq .dead_letters",
	}, func(c *cobra.Command, a *cli.API, _ []string) error {
		query, err := a.FiltersOf(c.Context(), c)
		if err != nil {
			return err
		}
		if !watch {
			return cli.Show(c, a, "/stats", query, writeStats)
		}
		return watchStats(c, a, query)
	})
	command.Flags().BoolVar(&watch, "watch", false, "refresh every 2 s, until Ctrl-C")
	cli.AddFilter(command, "window", "window", "how far back events and errors are counted, 1m to 31d (default 1h)")
	cli.AddJSONFlag(command)
	cli.AddWideFlag(command)
	return command
}

func watchStats(c *cobra.Command, a *cli.API, query url.Values) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if !cli.WantsJSON(c) {
			fmt.Fprint(c.OutOrStdout(), "\x1b[H\x1b[2J") // to the top of an empty screen
		}
		if err := cli.Show(c, a, "/stats", query, writeStats); err != nil {
			if c.Context().Err() != nil {
				return nil
			}
			fmt.Fprintln(c.ErrOrStderr(), "holdfast:", err) // it may be back at the next refresh
		}
		select {
		case <-c.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// plotDay draws a line for each result that events of the last day had.
func plotDay(w io.Writer, day *oversight.EventHistory) {
	if day == nil || len(day.Buckets) == 0 {
		return
	}
	step := time.Duration(day.Step)
	fmt.Fprintf(w, "\nEVENTS BY RESULT, %s TO %s, PER %s\n", day.Since.Format(time.RFC3339), day.Until.Format(time.RFC3339),
		word.Duration(step))
	for _, result := range []struct {
		name string
		of   func(oversight.EventBucket) int64
	}{
		{"processed", func(b oversight.EventBucket) int64 { return b.Processed }},
		{"ignored", func(b oversight.EventBucket) int64 { return b.Ignored }},
		{"dead", func(b oversight.EventBucket) int64 { return b.Dead }},
	} {
		counts := make([]int64, day.Until.Sub(day.Since)/step)
		var peak int64
		for _, b := range day.Buckets {
			n := result.of(b)
			counts[b.At.Sub(day.Since)/step], peak = n, max(peak, n)
		}
		if peak > 0 {
			label, end := fmt.Sprintf("%-9s ", result.name), fmt.Sprintf(" peak %d", peak)
			line := cli.Sparkline(w, len(label)+len(end), counts)
			fmt.Fprintln(w, label+cli.Tint(w, result.name, line)+end)
		}
	}
}

func writeStats(w io.Writer, s oversight.Stats) error {
	fmt.Fprintf(w, "%s, the last %s: %.2f events/s, in the last minute %.2f/s\n", s.At.Format(time.RFC3339),
		word.Duration(time.Duration(s.Window)), s.PerSecond, s.Recent)
	plotDay(w, s.LastDay)
	events := cli.NewTable(w, "EVENTS OF", "STATUS", "COUNT")
	for _, e := range s.Events {
		events.Row(e.Provider, string(e.Status), strconv.FormatInt(e.Count, 10))
	}
	letters := cli.NewTable(w, "DEAD LETTERS OF", "STATE", "CLASS", "CODE", "COUNT", "OLDEST~")
	for _, d := range s.DeadLetters {
		letters.Row(d.Provider, string(d.State), string(d.Class), d.Code, strconv.FormatInt(d.Count, 10),
			d.Oldest.UTC().Format(time.RFC3339))
	}
	inbox := cli.NewTable(w, "INBOX", "COUNT", "OLDEST~")
	for _, n := range s.Inbox {
		inbox.Row(string(n.Lane), strconv.FormatInt(n.Count, 10), n.Oldest.UTC().Format(time.RFC3339))
	}
	deliveries := cli.NewTable(w, "DELIVERIES", "COUNT", "OLDEST~")
	for _, n := range s.Deliveries {
		deliveries.Row(n.Status, strconv.FormatInt(n.Count, 10), cli.OptionalTimeText(n.Oldest))
	}
	if len(s.FailingDestinations) > 0 {
		fmt.Fprintf(w, "failing destinations: %s\n", strings.Join(s.FailingDestinations, ", "))
	}
	wrong := cli.NewTable(w, "ERRORS IN", "PROVIDER", "CLASS", "CODE", "COUNT")
	for _, e := range s.Errors {
		wrong.Row(string(e.Phase), e.Provider, string(e.Class), e.Code, strconv.FormatInt(e.Count, 10))
	}
	queues := cli.NewTable(w, "QUEUE", "BACKLOG", "AGE", "IN PER S", "OUT PER S", "POLLERS")
	for _, q := range s.Queues {
		queues.Row(q.Queue, strconv.FormatInt(q.Backlog, 10), time.Duration(q.Age).Round(time.Second).String(),
			fmt.Sprintf("%.1f", q.Added), fmt.Sprintf("%.1f", q.Dispatched), strconv.Itoa(q.WorkflowPollers+q.ActivityPollers))
	}
	if s.Queues == nil {
		defer fmt.Fprintln(w, "\nTemporal didn't respond: queues are missing")
	}
	return cli.FlushAll(events, inbox, letters, deliveries, wrong, queues)
}

// ReportCommand returns `holdfast report`.
func ReportCommand() *cobra.Command {
	command := cli.WithAPI(&cobra.Command{
		Use:   "report",
		Short: "Summarize a period and compare it with the previous one",
		Long: "Summarize a period and compare it with the previous one: events, failures, backlogs. The same report is sent to\n" +
			"the channels of HOLDFAST_NOTIFY_URLS, every HOLDFAST_NOTIFY_REPORT.",
		Example: "  holdfast report\n  holdfast report --window 168h --json | jq .received",
	}, func(c *cobra.Command, a *cli.API, _ []string) error {
		query, err := a.FiltersOf(c.Context(), c)
		if err != nil {
			return err
		}
		return cli.Show(c, a, "/report", query, func(w io.Writer, report oversight.Report) error {
			_, err := fmt.Fprintln(w, report.Text())
			return err
		})
	})
	cli.AddFilter(command, "window", "window", "how far back events and errors are counted, 1m to 31d (default 24h)")
	cli.AddJSONFlag(command)
	return command
}
