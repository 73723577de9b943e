package process

import (
	"context"
	"fmt"
	"os"
	"time"

	"holdfast/internal/installation"
	"holdfast/internal/notify"
)

// outageLook is the pause between two looks whether a store answers.
const outageLook = 5 * time.Second

// watchStores notifies people when Temporal or the database is away. The process does it by itself, because the notifications of
// events need both of them.
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

// scheduleNotifications is the workers' task, because only they know whether there is anybody to notify. It works beside their
// start: that a schedule cannot be made is no reason not to process events.
func (p *process) scheduleNotifications(ctx context.Context) {
	if !p.notifier.Enabled() {
		return
	}
	_ = waitFor(ctx, "Temporal's schedules", func(ctx context.Context) error { // it only ends early if the process does
		return installation.EnsureSchedules(ctx, p.temporal, installation.Notifications(p.cfg)...)
	})
}
