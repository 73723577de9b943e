package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/bench/baseline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	long     bool
	phases   []string
	without  []string
	pairs    int
	scale    float64
	out, bin string
	profile  bool
	markdown string
	keep     bool
}

func command() *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use:           "bench",
		Short:         "Measure Holdfast on servers of its own",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runSuite(c.Context(), o, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.BoolVar(&o.long, "long", false, "also the long phases: "+strings.Join(namesOf(true), ", "))
	f.StringSliceVar(&o.phases, "phases", nil, "only these: "+strings.Join(append(namesOf(false), namesOf(true)...), ", "))
	f.StringSliceVar(&o.without, "without", nil, "in the phase ablation, leave out only these, e.g. \"change feed\"")
	f.IntVar(&o.pairs, "pairs", 9, "pairs of slices per comparison; with fewer than 6 every result is undecided")
	f.Float64Var(&o.scale, "scale", 1, "scales the number of events and the time; below 1 the figures mean little")
	f.StringVar(&o.out, "out", ".holdfast/bench", "directory of reports; this run is compared with the newest")
	f.StringVar(&o.bin, "bin", "bin", "where holdfast, temporal-server and temporal-sql-tool are")
	f.BoolVar(&o.profile, "profile", false, "also write profiles of CPU and allocations of serve for each phase")
	f.StringVar(&o.markdown, "markdown", "", "also write the table into this page, between its marks")
	f.BoolVar(&o.keep, "keep", false, "keep the log files of the servers")
	c.AddCommand(partCommand(), peersCommand())
	return c
}

// partCommand is internal: it runs a part in a process of its own.
func partCommand() *cobra.Command {
	var e baseline.Engine
	part := &cobra.Command{Use: "part", Hidden: true}
	f := part.PersistentFlags()
	f.StringVar(&e.Address, "address", "", "")
	f.StringVar(&e.Namespace, "namespace", "", "")
	f.IntVar(&e.Starters, "starters", connections, "")
	part.AddCommand(
		&cobra.Command{Use: partCeiling, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Ceiling(c.Context(), e, c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: partSteps, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Steps(c.Context(), e, os.Getenv(partDatabase), c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: partStarts, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Starts(c.Context(), e, c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: partHandler, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Handler(c.Context(), os.Getenv(partDatabase), c.OutOrStdout())
		}},
		&cobra.Command{Use: partAPI, RunE: func(c *cobra.Command, _ []string) error {
			return serveAPI(c.InOrStdin(), c.OutOrStdout())
		}},
	)
	return part
}

// writeMarkdown inserts a table into a page, between two marks.
func writeMarkdown(path, table string) error {
	const begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no marks %s and %s to write between", path, begin, end)
	}
	page := before + begin + "\n\n" + table + "\n" + end + after
	return os.WriteFile(path, []byte(page), 0o644) //nolint:gosec // the caller names the page
}
