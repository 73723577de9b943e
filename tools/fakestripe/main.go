// Command fake-stripe is `holdfast dev` with a fake Stripe, whose missing events can be recovered: the demonstration of
// docs/recover.md. It isn't a part of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"holdfast/internal/config"
	"holdfast/internal/dev"
	"holdfast/internal/devstack/fakeapi"
)

const hint = `
The fake Stripe has sent 86 of its 100 events. Find the others, recover them, and deliver one of
them late:

  %[1]s recover stripe --since 48h --dry-run
  %[1]s recover stripe --yes
  %[1]s send stripe --file %[2]s
`

func main() {
	verbose := flag.Bool("verbose", false, "log everything that HOLDFAST_LOG_LEVEL allows, not only warnings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "fake-stripe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verbose bool) error {
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	if len(cfg.Secrets(stripeKey)) > 0 {
		return fmt.Errorf("unset %s: the fake Stripe has a credential of its own", stripeKey)
	}
	var f fakeStripe
	defer func() { _ = f.stop() }() // the process ends
	program := filepath.Join(filepath.Dir(os.Args[0]), "holdfast")
	return dev.Run(ctx, cfg, os.Stdout, dev.Options{Verbose: verbose, Demo: dev.Demo{
		// Recoveries are left to the developer.
		Settings: map[string]string{stripeKey: fakeapi.Credential, "HOLDFAST_RECOVERY_INTERVAL": "8760h"},
		Prepare:  f.start,
		Run:      f.send,
		Program:  program,
		Hint:     fmt.Sprintf(hint, program, filepath.Join(cfg.Dev.Dir, lateFile)),
	}})
}
