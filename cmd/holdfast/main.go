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
	"holdfast/internal/cli/admin"
	"holdfast/internal/cli/agent"
	"holdfast/internal/cli/deadletter"
	"holdfast/internal/cli/definition"
	"holdfast/internal/cli/destination"
	"holdfast/internal/cli/events"
	"holdfast/internal/cli/eventtype"
	"holdfast/internal/cli/importer"
	"holdfast/internal/cli/listen"
	"holdfast/internal/cli/load"
	"holdfast/internal/cli/observed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand()
	root.SetArgs(cli.Arguments(root, os.Args[1:]))
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(cli.ExitCode(err))
	}
}

// extra has the commands of builds with a tag: see manual.go.
var extra []*cobra.Command

func rootCommand() *cobra.Command {
	return cli.NewRoot(append(extra,
		devCommand(), serveCommand(), ingressCommand(), workerCommand(), operatorCommand(), migrateCommand(),
		listen.Command(),
		events.EventCommand(), cli.Advanced(events.InboxCommand()), events.EntityCommand(),
		deadletter.Command(), deadletter.ReplayCommand(), cli.Advanced(events.RebuildCommand()), events.RecoverCommand(),
		destination.SubscriptionCommand(), destination.DestinationCommand(), destination.DeliveryCommand(), destination.ResendCommand(),
		eventtype.Command(),
		definition.Command(), observed.Command(), cli.Advanced(importer.ImportCommand()), cli.Advanced(importer.CompareCommand()),
		load.SendCommand(),
		admin.AuditCommand(), cli.Advanced(events.ConflictCommand()), admin.TokenCommand(), cli.Advanced(admin.PayloadKeyCommand()),
		admin.ErrorCommand(), admin.StatsCommand(), admin.ReportCommand(), admin.DoctorCommand(),
		cli.Advanced(admin.PurgeCommand()), cli.Advanced(admin.ReconcileCommand()),
		cli.Advanced(agent.Command()), admin.ConfigCommand(), admin.HealthCommand(), admin.VersionCommand(),
	)...)
}
