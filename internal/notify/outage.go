package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Store is something that a process cannot do its work without.
type Store struct {
	// Name begins the sentence that is told: "Temporal", "the database".
	Name string
	// Probe gives nil if it answers. It is asked with a deadline.
	Probe func(context.Context) error
}

// Watch tells when stores go away and come back. It belongs to the process that notices, not to a queue: what carries the
// queue may be the very thing that is away.
type Watch struct {
	Notifier *Notifier
	// From names the process in the messages.
	From string
	// Every is the pause between two looks, After how long a store must be away before it is told, and Repeat the pause
	// between two messages of one store: one that comes and goes is told no more often.
	Every, After, Repeat time.Duration
}

// outage is what is known of one store.
type outage struct {
	since, told time.Time
	// announced: the outage that lasts has been told, so its end will be too.
	announced bool
}

// Run watches until ctx ends.
func (w Watch) Run(ctx context.Context, stores ...Store) {
	outages := make([]outage, len(stores))
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		for i, s := range stores {
			w.look(ctx, s, &outages[i])
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w Watch) look(ctx context.Context, s Store, o *outage) {
	probe, cancel := context.WithTimeout(ctx, w.Every)
	err := s.Probe(probe)
	cancel()
	if ctx.Err() != nil {
		return
	}
	if text := o.judge(s.Name, err == nil, time.Now(), w.After, w.Repeat); text != "" {
		w.tell(ctx, w.From+": "+text)
	}
}

// judge notes how a look has ended, and gives what is to be told of it, if anything.
func (o *outage) judge(name string, up bool, now time.Time, after, repeat time.Duration) string {
	switch {
	case up && o.announced:
		text := fmt.Sprintf("%s answers again, after %s", name, now.Sub(o.since).Round(time.Second))
		o.since, o.announced = time.Time{}, false
		return text
	case up:
		o.since = time.Time{}
		return ""
	case o.since.IsZero():
		o.since = now
	}
	if now.Sub(o.since) < after || !o.told.IsZero() && now.Sub(o.told) < repeat {
		return ""
	}
	o.told, o.announced = now, true
	return fmt.Sprintf("%s has not answered for %s", name, now.Sub(o.since).Round(time.Second))
}

func (w Watch) tell(ctx context.Context, text string) {
	slog.WarnContext(ctx, "outage.told", "error", text)
	if _, err := w.Notifier.Send(ctx, text); err != nil {
		slog.WarnContext(ctx, "notification.failed", "error", err.Error())
	}
}
