package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/runs"
)

// watchEvery is the pause between two looks of `stats --watch`.
const watchEvery = 2 * time.Second

func statsCommand() *cobra.Command {
	var watch bool
	var window time.Duration
	command := &cobra.Command{
		Use:     "stats",
		Short:   "Count events, dead letters and errors, and show the backlog of each task queue",
		GroupID: groupOperate,
		Args:    cobra.NoArgs,
		RunE: withTools(func(c *cobra.Command, t *tools, _ []string) error {
			if window <= 0 {
				return errors.New("--window must be more than 0")
			}
			if !watch {
				return printStats(c, t, window)
			}
			return watchStats(c, t, window)
		}),
	}
	command.Flags().BoolVar(&watch, "watch", false, "show it again every 2 s, until Ctrl-C")
	command.Flags().DurationVar(&window, "window", time.Hour, "how far back events and errors are counted")
	addJSONFlag(command)
	return command
}

func watchStats(c *cobra.Command, t *tools, window time.Duration) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if !asksJSON(c) {
			fmt.Fprint(c.OutOrStdout(), "\x1b[H\x1b[2J") // to the top of an empty screen
		}
		if err := printStats(c, t, window); err != nil {
			if c.Context().Err() != nil {
				return nil
			}
			fmt.Fprintln(c.ErrOrStderr(), "holdfast:", err) // it may be back at the next look
		}
		select {
		case <-c.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

func printStats(c *cobra.Command, t *tools, window time.Duration) error {
	stats, err := readStats(c.Context(), t, window)
	if err != nil {
		return err
	}
	return t.print(c, stats, func(w io.Writer) error { return writeStats(w, stats) })
}

// readStats does without the queues if Temporal does not answer: the rest is worth seeing then, too.
func readStats(ctx context.Context, t *tools, window time.Duration) (event.Stats, error) {
	stats, err := t.store.Stats(ctx, window)
	if err != nil {
		return stats, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	queues, err := runs.Queues{Client: t.temporal, Namespace: t.cfg.Temporal.Namespace}.Read(ctx)
	if err == nil {
		stats.Queues = queues
	}
	return stats, nil
}

func writeStats(w io.Writer, s event.Stats) error {
	fmt.Fprintf(w, "%s, the last %s: %.2f events/s, in the last minute %.2f/s\n", s.At.Format(time.RFC3339), s.Window,
		s.PerSecond, s.Recent)
	events := newTable(w, "EVENTS OF", "STATUS", "COUNT")
	for _, e := range s.Events {
		events.row(e.Provider, string(e.Status), strconv.FormatInt(e.Count, 10))
	}
	letters := newTable(w, "DEAD LETTERS OF", "STATE", "CLASS", "CODE", "COUNT", "OLDEST")
	for _, d := range s.DeadLetters {
		letters.row(d.Provider, string(d.State), string(d.Class), d.Code, strconv.FormatInt(d.Count, 10),
			d.Oldest.UTC().Format(time.RFC3339))
	}
	inbox := newTable(w, "INBOX", "COUNT", "OLDEST")
	for _, n := range s.Inbox {
		inbox.row(string(n.Lane), strconv.FormatInt(n.Count, 10), n.Oldest.UTC().Format(time.RFC3339))
	}
	wrong := newTable(w, "ERRORS IN", "PROVIDER", "CLASS", "CODE", "COUNT")
	for _, e := range s.Errors {
		wrong.row(string(e.Phase), e.Provider, string(e.Class), e.Code, strconv.FormatInt(e.Count, 10))
	}
	queues := newTable(w, "QUEUE", "BACKLOG", "AGE", "IN/S", "OUT/S", "POLLERS")
	for _, q := range s.Queues {
		queues.row(q.Queue, strconv.FormatInt(q.Backlog, 10), time.Duration(q.Age).Round(time.Second).String(),
			fmt.Sprintf("%.1f", q.Added), fmt.Sprintf("%.1f", q.Dispatched), strconv.Itoa(q.WorkflowPollers+q.ActivityPollers))
	}
	if s.Queues == nil {
		defer fmt.Fprintln(w, "\nTemporal did not answer: no queues")
	}
	return flushAll(events, inbox, letters, wrong, queues)
}

// flushAll writes the tables that are not empty, each after a blank line.
func flushAll(tables ...*table) error {
	for _, t := range tables {
		if t.rows == 0 {
			continue
		}
		fmt.Fprintln(t.to)
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}
