package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/internal/installation"
	"holdfast/persistence"
)

// How long an event may wait in the inbox before it is odd, and before something is wrong.
const (
	waitingWarn = time.Minute
	waitingFail = 15 * time.Minute
)

func (d *doctor) examineInbox(ctx context.Context) {
	depths, err := d.store.InboxDepth(ctx)
	if err != nil {
		d.found("inbox", verdictFail, err.Error(), "run `holdfast migrate`")
		return
	}
	overflow := depths[event.LaneOverflow]
	age := overflow.Age(time.Now())
	d.found("inbox", above(age, waitingWarn, waitingFail),
		fmt.Sprintf("%d event(s) wait for Temporal, the oldest for %s", overflow.Depth, age.Round(time.Second)),
		"see that Temporal answers and an ingress or worker runs; `holdfast inbox list` says why each waits")
}

// unattendedFor is how long a dead letter may wait before somebody should have looked at it: automatic redrive has ended by then,
// and what it leaves out has been notified.
const unattendedFor = 24 * time.Hour

// examineDeadLetters: those that are exhausted, or have waited for long, wait for nobody but an operator.
func (d *doctor) examineDeadLetters(ctx context.Context) {
	stats, err := d.store.Stats(ctx, time.Minute)
	if err != nil {
		d.found("dead letters", verdictFail, err.Error(), "run `holdfast migrate`")
		return
	}
	waiting, oldest := map[event.DeadLetterState]int64{}, stats.At
	for _, c := range stats.DeadLetters {
		waiting[c.State] += c.Count
		if c.State != event.DeadLetterRedriving && c.Oldest.Before(oldest) {
			oldest = c.Oldest
		}
	}
	age := stats.At.Sub(oldest)
	v := verdictOK
	switch {
	case waiting[event.DeadLetterExhausted] > 0 || age > unattendedFor:
		v = verdictFail
	case waiting[event.DeadLetterOpen] > 0:
		v = verdictWarn
	}
	var counted []string
	for _, state := range event.DeadLetterStates() {
		if n := waiting[state]; n > 0 {
			counted = append(counted, fmt.Sprintf("%s %d", state, n))
		}
	}
	detail := "none"
	if len(counted) > 0 {
		detail = fmt.Sprintf("%s; the oldest waits for %s", strings.Join(counted, ", "), age.Round(time.Second))
	}
	d.found("dead letters", v, detail, "`holdfast dlq list` (--state exhausted) says why; correct the cause and run them again "+
		"(`holdfast dlq redrive`), or discard them")
}

// untoldFor is how long alerts may wait before something is wrong with all channels.
const untoldFor = 10 * time.Minute

func (d *doctor) examineUntold(f persistence.Facts) {
	if !d.cfg.Notify.URLs.IsSet() {
		d.found("notifications", verdictWarn, "nobody is notified of failures and outages", "set HOLDFAST_NOTIFY_URLS")
		return
	}
	if _, err := installation.NewNotifier(d.cfg); err != nil {
		d.found("notifications", verdictFail, err.Error(), "correct it; see github.com/nicholas-fedor/shoutrrr")
		return
	}
	waited := f.UntoldSince != nil && f.Now.Sub(*f.UntoldSince) > untoldFor+d.cfg.Notify.Every
	d.found("notifications", either(!waited, verdictFail), fmt.Sprintf("%d failure(s) wait to be told", f.Untold),
		"no channel takes messages: look for notification.failed in the workers' logs")
}
