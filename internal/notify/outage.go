package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"holdfast/internal/word"
)

// Store is a service that a process needs.
type Store struct {
	// Name begins the notification's sentence: "Temporal", "the database".
	Name string
	// Probe returns nil if the store answers. Its context has a deadline.
	Probe func(context.Context) error
}

// Watch sends notifications when stores go down and come back. The process itself sends them rather than a queue, because the
// queue may depend on the store that is down.
type Watch struct {
	Notifier *Notifier
	// From names the process in messages.
	From string
	// Every is the pause between two probes, After how long a store must be down before a message, and Repeat the least time
	// between two messages about one store, even if it flaps.
	Every, After, Repeat time.Duration
}

// outage is the state of one store.
type outage struct {
	since, notified time.Time
	// announced reports that the current outage was notified, so its end will be too.
	announced bool
}

// Run watches until ctx ends.
func (w Watch) Run(ctx context.Context, stores ...Store) {
	outages := make([]outage, len(stores))
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		for i, s := range stores {
			w.probe(ctx, s, &outages[i])
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w Watch) probe(ctx context.Context, s Store, o *outage) {
	probe, cancel := context.WithTimeout(ctx, w.Every)
	err := s.Probe(probe)
	cancel()
	if ctx.Err() != nil {
		return
	}
	if text := o.update(s.Name, err == nil, time.Now(), w.After, w.Repeat); text != "" {
		w.notify(ctx, w.From+": "+text)
	}
}

// update records the result of a probe and returns the message to send, or "".
func (o *outage) update(name string, up bool, now time.Time, after, repeat time.Duration) string {
	switch {
	case up && o.announced:
		text := fmt.Sprintf("%s answers again, after %s", name, word.Age(now.Sub(o.since)))
		o.since, o.announced = time.Time{}, false
		return text
	case up:
		o.since = time.Time{}
		return ""
	case o.since.IsZero():
		o.since = now
	}
	if now.Sub(o.since) < after || !o.notified.IsZero() && now.Sub(o.notified) < repeat {
		return ""
	}
	o.notified, o.announced = now, true
	return fmt.Sprintf("%s has not answered for %s", name, word.Age(now.Sub(o.since)))
}

func (w Watch) notify(ctx context.Context, text string) {
	slog.WarnContext(ctx, "outage.notified", "error", text)
	if _, err := w.Notifier.Send(ctx, text); err != nil {
		slog.WarnContext(ctx, "notification.failed", "error", err.Error())
	}
}
