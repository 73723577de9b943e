package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/bench/ab"
	"holdfast/bench/baseline"
	"holdfast/bench/phases"
	"holdfast/bench/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := suite.Options{}
	c := &cobra.Command{
		Use:           "bench",
		Short:         "Measure Holdfast on servers of its own",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return suite.Run(c.Context(), o, phases.All(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	short, long := suite.NamesOf(phases.All(), false), suite.NamesOf(phases.All(), true)
	f := c.Flags()
	f.BoolVar(&o.Long, "long", false, "also the long phases: "+strings.Join(long, ", "))
	f.StringSliceVar(&o.Phases, "phases", nil, "only these: "+strings.Join(slices.Concat(short, long), ", "))
	f.StringSliceVar(&o.Without, "without", nil, "in the phase ablation, leave out only these, e.g. \"change feed\"")
	f.IntVar(&o.Pairs, "pairs", 9, "pairs of slices per comparison; with fewer than 6 every result is undecided")
	f.Float64Var(&o.Scale, "scale", 1, "scales the number of events and the time; below 1 the figures mean little")
	f.StringVar(&o.Out, "out", ".holdfast/bench", "directory of reports; this run is compared with the newest")
	f.StringVar(&o.Bin, "bin", "bin", "where holdfast, temporal-server and temporal-sql-tool are")
	f.BoolVar(&o.Profile, "profile", false, "also write profiles of CPU and allocations of serve for each phase")
	f.StringVar(&o.Markdown, "markdown", "", "also write the table into this page, between its marks")
	f.BoolVar(&o.Keep, "keep", false, "keep the log files of the servers")
	c.AddCommand(partCommand(), peersCommand(), abCommand())
	return c
}

// abCommand compares the working tree with another revision.
func abCommand() *cobra.Command {
	o := suite.Options{}
	c := &cobra.Command{
		Use:   "ab",
		Short: "Compare the working tree with another revision, in turns on the same servers",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return suite.Run(c.Context(), o, ab.Phases(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&o.Base, "base", "", "the revision")
	f.StringSliceVar(&o.Phases, "phases", nil, "only these: "+strings.Join(suite.NamesOf(ab.Phases(), false), ", "))
	f.IntVar(&o.Pairs, "pairs", 12, "pairs of slices per comparison; with fewer than 6 every result is undecided")
	f.Float64Var(&o.Scale, "scale", 1, "scales the number of events and the time; below 1 the figures mean little")
	f.StringVar(&o.Out, "out", ".holdfast/bench-ab", "directory of reports; this run is compared with the newest")
	f.StringVar(&o.Bin, "bin", "bin", "where holdfast, temporal-server and temporal-sql-tool are")
	f.StringVar(&o.Markdown, "markdown", "", "also write the table into this page, between its marks")
	f.BoolVar(&o.Keep, "keep", false, "keep the log files of the servers")
	_ = c.MarkFlagRequired("base") // the flag exists
	return c
}

// partCommand is internal: it runs a part in a process of its own.
func partCommand() *cobra.Command {
	var e baseline.Engine
	part := &cobra.Command{Use: "part", Hidden: true}
	f := part.PersistentFlags()
	f.StringVar(&e.Address, "address", "", "")
	f.StringVar(&e.Namespace, "namespace", "", "")
	f.IntVar(&e.Starters, "starters", suite.Connections, "")
	part.AddCommand(
		&cobra.Command{Use: suite.PartCeiling, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Ceiling(c.Context(), e, c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: suite.PartSteps, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Steps(c.Context(), e, os.Getenv(suite.PartDatabase), c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: suite.PartStarts, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Starts(c.Context(), e, c.InOrStdin(), c.OutOrStdout())
		}},
		&cobra.Command{Use: suite.PartHandler, RunE: func(c *cobra.Command, _ []string) error {
			return baseline.Handler(c.Context(), os.Getenv(suite.PartDatabase), c.OutOrStdout())
		}},
		&cobra.Command{Use: suite.PartAPI, RunE: func(c *cobra.Command, _ []string) error {
			return suite.ServeAPI(c.InOrStdin(), c.OutOrStdout())
		}},
	)
	return part
}
