package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/lint"
	"holdfast/providers"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
)

// secretsFor is how long a read secret is cached: a forged request must not cost reading a file, and a rotation isn't affected
// by a second.
const secretsFor = time.Second

// loadDefinitions refuses what a reload refuses, except for failing samples, which it only logs.
func (p *process) loadDefinitions() (err error) {
	p.secrets = config.NewKeptSecrets(p.cfg, secretsFor, providers.UnreadableSecret)
	rate := receiving.NewRate(p.cfg.Providers.Rate.Requests, p.cfg.Providers.Rate.Per)
	if p.catalogue, err = providers.LoadLive(p.cfg.Providers.Dir, p.secrets.Secrets, rate, p.acceptDefinitions); err != nil {
		return err
	}
	for _, f := range lint.FailingSamples(p.catalogue.Catalogue()) {
		slog.Error("providers.sample_fails", "error", f.String())
	}
	for _, name := range p.catalogue.Catalogue().OwnNames() {
		p.warnOfRules(name)
	}
	p.unreadableSecrets() // only what was read once is kept
	return p.telemetry.ObserveSecrets(p.unreadableSecrets)
}

// unreadableSecrets reads the files of the providers' secrets, and for a worker of the credentials for their APIs. It reports for
// each whether it can't be read.
func (p *process) unreadableSecrets() map[string]bool {
	catalogue := p.catalogue.Catalogue()
	names := catalogue.SecretNames()
	if p.roles.has(RoleWorker) {
		names = slices.Concat(names, catalogue.APISecretNames())
	}
	return p.secrets.Files(names)
}

// acceptDefinitions refuses definitions whose configured secrets or handlers can't be read.
func (p *process) acceptDefinitions(c *providers.Catalogue) error {
	err := p.cfg.CheckSecrets(c.SecretNames()...)
	if p.roles.has(RoleIngress) {
		err = errors.Join(err, p.cfg.CheckHandlers(c.HandlerNames()...), p.checkLanes(c))
	}
	return err
}

// checkLanes refuses the bulk lane if each event must be in both stores: its events are in the inbox alone.
func (p *process) checkLanes(c *providers.Catalogue) error {
	bulk := c.BulkNames()
	if p.cfg.Ingress.Ack != config.AckStored || len(bulk) == 0 {
		return nil
	}
	return fmt.Errorf("HOLDFAST_INGRESS_ACK is stored, but %s sends events to the bulk lane, which only the database has: "+
		"remove `lane: bulk` from its definition, or set HOLDFAST_INGRESS_ACK=either", strings.Join(bulk, ", "))
}

// reloadOnHangup reloads the definitions at every SIGHUP. If one is invalid, the current ones stay. It begins before the process
// serves, since an unhandled SIGHUP would end it; the reload then follows the start, because it needs the stores.
func (p *process) reloadOnHangup() {
	// A closed terminal sends the same signal. A process started in a terminal should end then, unless nohup says otherwise.
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
			select {
			case <-done:
				return
			case <-p.started:
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
	p.reloading.Lock()
	defer p.reloading.Unlock()
	if err := p.catalogue.Reload(lint.Regression); err != nil {
		slog.Error("providers.rejected", "error", err.Error())
		p.say("definitions refused, those before stay in use: " + err.Error())
		return
	}
	loaded := p.catalogue.Loading()
	p.say(reloadText(loaded))
	slog.Info("providers.reloaded", "providers", len(p.catalogue.Catalogue().Names()),
		"added", loaded.Added, "changed", loaded.Changed, "removed", loaded.Removed)
	for _, name := range slices.Concat(loaded.Added, loaded.Changed) {
		p.warnOfRules(name)
	}
	for _, name := range loaded.Added {
		p.sayNoSecret(name)
	}
	p.unreadableSecrets()
	p.warnOfSecrets()
	if p.queues != nil {
		if err := p.queues.Read(p.catalogue.Catalogue().Queues()); err != nil {
			slog.Error("source_queue.not_stopped", "error", err.Error())
		}
	}
	if p.roles.has(RoleWorker) {
		p.switchRecoveryOn(context.Background())
	}
}

// warnOfRules reports the rules of a definition that find no entity in the sample that they are for.
func (p *process) warnOfRules(name string) {
	provider, ok := p.catalogue.Lookup(name)
	if !ok {
		return
	}
	for _, f := range lint.Unapplied(provider, 0) {
		if p.dev.Say != nil {
			p.say("warning: " + f.String())
		} else {
			slog.Warn("providers.rule_unapplied", "error", f.String())
		}
	}
}

// sayNoSecret says in development that an added definition can't authenticate its sender: secrets to try are given at the start.
func (p *process) sayNoSecret(name string) {
	if provider, ok := p.catalogue.Lookup(name); ok && provider.CheckSecrets() != nil {
		p.say("warning: " + name + " has no secret: start make run again, which gives it one to try, or set " +
			strings.Join(provider.SecretNames(), " or "))
	}
}

// lookEvery is how often files of definitions are checked in development.
const lookEvery = 500 * time.Millisecond

// reloadOnChange reloads the definitions whenever a file of them has changed and then stays the same for lookEvery: an editor may
// write it in two steps. A reload needs the stores, so the first one follows the start.
func (p *process) reloadOnChange() {
	dir, done := p.cfg.Providers.Dir, make(chan struct{})
	if dir == "" {
		return
	}
	p.onStop("watch of definitions", func(context.Context) error { close(done); return nil })
	loaded := definitionFiles(dir)
	go func() {
		select {
		case <-done:
			return
		case <-p.started:
		}
		for seen := loaded; ; {
			select {
			case <-done:
				return
			case <-time.After(lookEvery):
			}
			now := definitionFiles(dir)
			if now == seen && now != loaded {
				loaded = now
				p.reload()
			}
			seen = now
		}
	}()
}

// definitionFiles describes the files of a folder, so that a change of one is noticed.
func definitionFiles(dir string) string {
	var all strings.Builder
	entries, _ := os.ReadDir(dir) // while it can't be read, it is as if it was empty
	for _, entry := range entries {
		if !definition.IsFile(entry.Name()) {
			continue
		}
		// A link counts as what it leads to, or a change of that would go unnoticed.
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil {
			fmt.Fprintln(&all, entry.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return all.String()
}

func (p *process) say(line string) {
	if p.dev.Say != nil {
		p.dev.Say(line)
	}
}

// reloadText summarizes a reload in one line.
func reloadText(l providers.Loading) string {
	var parts []string
	for _, one := range []struct {
		what  string
		names []string
	}{{"added", l.Added}, {"changed", l.Changed}, {"removed", l.Removed}} {
		if len(one.names) > 0 {
			parts = append(parts, one.what+" "+strings.Join(one.names, ", "))
		}
	}
	if len(parts) == 0 {
		return "definitions reloaded: nothing has changed"
	}
	return "definitions reloaded: " + strings.Join(parts, "; ")
}

func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}
