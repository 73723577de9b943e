package operation

import (
	"fmt"
	"strings"
	"time"
)

// ListHealth describes the health of a provider's list of events.
type ListHealth struct {
	RecoveryMark

	// Gaps are recoveries of the last week that have found events that never arrived, or a time of which nothing can be known,
	// newest first.
	Gaps []Recovery
	// Blocked is a recovery that a problem has paused; nil if there is none.
	Blocked *Recovery
}

// CompleteUntil returns the time until which everything in the list is here, or lies before recovery was switched on.
func (h ListHealth) CompleteUntil() time.Time {
	if h.Watermark.IsZero() {
		return h.SwitchedOn
	}
	return h.Watermark
}

// GapsFor is how long a gap is reported.
const GapsFor = 7 * 24 * time.Hour

// HasUnknown reports whether it couldn't read a time that no other recovery will read: the list no longer has it.
func (r Recovery) HasUnknown() bool { return r.Cut == CutReach && r.AskedSince.IsZero() && !r.DryRun }

// Unknown returns the length of the time of which nothing can be known; 0 if there is none.
func (r Recovery) Unknown() time.Duration {
	if !r.HasUnknown() {
		return 0
	}
	return r.Since.Sub(r.WantedSince)
}

// MissedText says which events never arrived, whether they were refused here, and what has become of them; "" if none was missed.
func (r Recovery) MissedText() string {
	if r.Missed == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s never arrived", count(r.Missed, "event"), periodText(r.FirstMissed, r.LastMissed))
	switch {
	case r.Refused == nil:
	case *r.Refused == 0:
		text += "; none was refused here"
	default:
		text += fmt.Sprintf("; %s from then on", count(*r.Refused, "request")+" of the provider "+was(*r.Refused)+" refused here")
	}
	switch {
	case r.DryRun:
	case r.Recovered > 0 || r.State.Ended() && r.Redeliverable < r.Missed:
		text += fmt.Sprintf("; %d recovered", r.Recovered)
	case !r.State.Ended():
		text += "; being recovered"
	}
	if r.Asked > 0 {
		text += fmt.Sprintf("; the provider was asked to send %d again", r.Asked)
	}
	if n := r.Unasked(); n > 0 && (r.DryRun || r.State.Ended()) {
		text += fmt.Sprintf("; %d can only be sent again by the provider", n)
	}
	if r.Arrived > 0 {
		text += fmt.Sprintf(", %d arrived meanwhile", r.Arrived)
	}
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d couldn't be started", r.Failed)
	}
	return text
}

// UnknownText says of which time nothing can be known; "" if there is none.
func (r Recovery) UnknownText() string {
	if !r.HasUnknown() {
		return ""
	}
	return fmt.Sprintf("nothing was read for %s, and the provider keeps %s: what happened %s can't be known",
		lengthText(r.Until.Sub(r.WantedSince)), lengthText(r.Until.Sub(r.Since)), periodText(r.WantedSince, r.Since))
}

// GapText joins both texts; "" for a recovery that has found no gap.
func (r Recovery) GapText() string {
	texts := []string{}
	for _, text := range []string{r.UnknownText(), r.MissedText()} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ". ")
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func was(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// periodText returns "from 2026-11-26 02:10 to 02:55 UTC", or "at 2026-11-26 02:10 UTC".
func periodText(from, to time.Time) string {
	const minute = "2006-01-02 15:04"
	from, to = from.UTC(), to.UTC()
	first, last := from.Format(minute), to.Format(minute)
	switch {
	case first == last:
		return "at " + first + " UTC"
	case first[:10] == last[:10]:
		last = last[11:]
	}
	return "from " + first + " to " + last + " UTC"
}

// lengthText returns a length in whole days, or in hours if it is shorter than two days.
func lengthText(d time.Duration) string {
	if d < 48*time.Hour {
		return count(int64(d.Round(time.Hour)/time.Hour), "hour")
	}
	return count(int64(d.Round(24*time.Hour)/(24*time.Hour)), "day")
}
