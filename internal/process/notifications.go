package process

import (
	"context"
	"fmt"
	"os"
	"time"

	"holdfast/internal/notify"
	"holdfast/internal/stores"
)

// outageProbe is the pause between two probes of a store.
const outageProbe = 5 * time.Second

// watchStores sends notifications when Temporal or the database is down. The process sends them directly, because the
// notifications of events need both stores.
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
		Every:    min(outageProbe, max(p.cfg.Notify.OutageAfter, time.Second)),
		After:    p.cfg.Notify.OutageAfter,
		Repeat:   p.cfg.Notify.OutageRepeat,
	}
	stores := []notify.Store{{Name: "Temporal", Probe: p.probeTemporal()}}
	if p.side != nil {
		stores = append(stores, notify.Store{Name: "the database", Probe: p.side.Ping})
	}
	go watch.Run(ctx, stores...)
}

// scheduleNotifications runs on workers, because only they know the notification channels. It runs concurrently with their
// start, since events must be processed even if a schedule can't be created.
func (p *process) scheduleNotifications(ctx context.Context) {
	if !p.notifier.Enabled() {
		return
	}
	_ = waitFor(ctx, "Temporal's schedules", func(ctx context.Context) error { // it only ends early if the process does
		return stores.EnsureSchedules(ctx, p.temporal, stores.Notifications(p.cfg)...)
	})
}
