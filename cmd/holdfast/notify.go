package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/notify"
)

// outageLook is the pause between two looks whether a store answers.
const outageLook = 5 * time.Second

func newNotifier(cfg config.Config) (*notify.Notifier, error) {
	notifier, err := notify.New(strings.Fields(cfg.Notify.URLs.Reveal())...)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_NOTIFY_URLS: %w", err)
	}
	return notifier, nil
}

// watchStores tells people when Temporal or the database is away. It is the process itself that tells, because what events
// are told by needs both of them.
func (p *process) watchStores(name string) {
	if !p.notifier.Enabled() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.onStop("watch", func(context.Context) error { cancel(); return nil })
	host, _ := os.Hostname() // only a name
	watch := notify.Watch{
		Notifier: p.notifier,
		From:     fmt.Sprintf("holdfast %s on %s", name, host),
		Every:    min(outageLook, max(p.cfg.Notify.OutageAfter, time.Second)),
		After:    p.cfg.Notify.OutageAfter,
		Repeat:   p.cfg.Notify.OutageRepeat,
	}
	stores := []notify.Store{{Name: "Temporal", Probe: p.probeTemporal()}}
	if p.side != nil {
		stores = append(stores, notify.Store{Name: "the database", Probe: p.side.Ping})
	}
	go watch.Run(ctx, stores...)
}
