// Command holdfast is the one binary of Holdfast: every role, and the tools to operate it. It only wires the packages
// together; what it does stands in them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(exitCode(err))
	}
}

func rootCommand() *cobra.Command {
	return newRoot(
		devCommand(), serveCommand(), ingressCommand(), workerCommand(), operatorCommand(), migrateCommand(),
		eventCommand(), inboxCommand(), entityCommand(), deadLetterCommand(), redriveCommand(), providerCommand(), sendCommand(),
		benchCommand(), verifyLedgerCommand(), auditCommand(), conflictsCommand(), tokenCommand(), payloadKeyCommand(),
		errorCommand(), statsCommand(), doctorCommand(), purgeCommand(),
		configCommand(), healthCommand(), versionCommand(),
	)
}
