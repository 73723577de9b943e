package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// reloadOnHangup reads the definitions anew at every SIGHUP. A mistake keeps those that are valid. It begins before the
// process serves, since a SIGHUP that nobody waits for ends it.
func (p *process) reloadOnHangup() {
	// A terminal that is closed sends the same signal. Whoever runs Holdfast in one wants it to end then, unless nohup says
	// otherwise.
	mayEnd := hasTerminal() && !signal.Ignored(syscall.SIGHUP)
	hangups := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	p.onStop("reload", func(context.Context) error {
		signal.Stop(hangups)
		close(done)
		return nil
	})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-hangups:
			}
			if mayEnd && !hasTerminal() {
				p.failed <- errors.New("the terminal was closed")
				return
			}
			p.reload()
		}
	}()
}

func (p *process) reload() {
	if err := p.catalogue.Reload(); err != nil {
		slog.Error("providers.rejected", "error", err.Error())
		return
	}
	slog.Info("providers.reloaded", "providers", len(p.catalogue.Catalogue().Names()))
	p.warnOfSecrets()
}

func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}
