package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"holdfast/bench/peers"
	"holdfast/bench/suite"
)

// peersCommand compares Holdfast with other systems.
func peersCommand() *cobra.Command {
	o := peers.Options{}
	var markdown string
	c := &cobra.Command{
		Use:   "peers",
		Short: "Compare Holdfast with Convoy and Outpost, side by side on this machine",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Progress = c.ErrOrStderr()
			return comparePeers(c.Context(), o, markdown, c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.Sources, "sources", "", "folder with convoy and outpost: git repositories or plain folders")
	f.IntVar(&o.Rounds, "rounds", 3, "how often every system has its turn")
	f.DurationVar(&o.Idle, "idle", 15*time.Second, "how long a system is measured without load, in each round")
	f.BoolVar(&o.Crash, "crash", true, "also kill everything in the middle of a load, and count what is lost")
	f.StringVar(&o.Dir, "dir", ".holdfast/peers", "folder of the servers and of what is built from the sources")
	f.StringVar(&o.Bin, "bin", "bin", "where holdfast, temporal-server and temporal-sql-tool are")
	f.StringVar(&markdown, "markdown", "", "also write the tables into this page, between its marks")
	return c
}

func comparePeers(ctx context.Context, o peers.Options, markdown string, out io.Writer) (err error) {
	if o.Sources == "" {
		return errors.New("--sources is missing: run make bench-peers PEERS=DIR with a folder that has convoy and outpost")
	}
	if o.Root, err = os.Getwd(); err != nil {
		return err
	}
	for _, dir := range []*string{&o.Sources, &o.Dir, &o.Bin} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	result, err := peers.Run(ctx, o)
	if result == nil {
		return err
	}
	fmt.Fprintln(out, result.Markdown())
	if markdown != "" && err == nil {
		err = suite.WriteMarkdown(markdown, result.Markdown())
	}
	return err
}
