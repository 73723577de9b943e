// Command holdfast is the only binary of Holdfast: every role, and the tools to operate it. It lists its commands and must not
// implement them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/cli/deadletter"
	"holdfast/internal/cli/definition"
	"holdfast/internal/cli/listen"
	"holdfast/internal/cli/load"
	"holdfast/internal/cli/moving"
	"holdfast/internal/cli/operate"
	"holdfast/internal/cli/outbound"
	"holdfast/internal/cli/stored"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(cli.ExitCode(err))
	}
}

func rootCommand() *cobra.Command {
	return cli.NewRoot(
		devCommand(), serveCommand(), ingressCommand(), workerCommand(), operatorCommand(), migrateCommand(),
		listen.Command(),
		stored.EventCommand(), stored.InboxCommand(), stored.EntityCommand(),
		deadletter.Command(), deadletter.RedriveCommand(), stored.RebuildCommand(),
		outbound.SubscriptionCommand(), outbound.DestinationCommand(), outbound.DeliveryCommand(), outbound.ResendCommand(),
		definition.Command(), moving.ImportCommand(), moving.CompareCommand(),
		load.SendCommand(), load.BenchCommand(), load.VerifyLedgerCommand(),
		operate.AuditCommand(), stored.ConflictCommand(), operate.TokenCommand(), operate.PayloadKeyCommand(),
		operate.ErrorCommand(), operate.StatsCommand(), operate.ReportCommand(), operate.DoctorCommand(),
		operate.PurgeCommand(), operate.ReconcileCommand(),
		operate.ConfigCommand(), operate.HealthCommand(), operate.VersionCommand(),
	)
}
