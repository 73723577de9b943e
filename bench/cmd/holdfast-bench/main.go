package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/internal/buildinfo"
	"holdfast/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-bench:", err)
		os.Exit(cli.ExitCode(err))
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "holdfast-bench",
		Short:   "Load an installation of Holdfast, and check that no event is lost",
		Version: buildinfo.Read().String(),
		Example: "  holdfast-bench load stripe --rate 100/s --ledger load.ledger\n" +
			"  holdfast-bench verify-ledger load.ledger",
	}
	root.AddCommand(loadCommand(), verifyCommand())
	return cli.Program(root)
}
