package oversight

import (
	"fmt"
	"strings"
	"time"
)

// reportNames is the max number of names on a line of a report; the rest is counted.
const reportNames = 5

// Text returns the report as a message. It contains names of providers, codes and destinations, but no content of events.
func (r Report) Text() string {
	const layout = "Jan 2 15:04"
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s UTC, compared with the %s before", r.Since.UTC().Format(layout), r.Until.UTC().Format(layout),
		span(r.Until.Sub(r.Since)))
	came, silent := r.split()
	fmt.Fprintf(&b, "\nReceived: %s%s", Sum(r.Received).text("event"), list(came))
	if len(silent) > 0 {
		fmt.Fprintf(&b, "\nNo longer sending: %s", strings.Join(firstOf(silent), ", "))
	}
	fmt.Fprintf(&b, "\nRedelivered: %s", r.Repeated.times())
	var failed []string
	for _, t := range r.Failed {
		if t.Count > 0 {
			failed = append(failed, fmt.Sprintf("%s %d", t.Name, t.Count))
		}
	}
	fmt.Fprintf(&b, "\nFailed: %s%s; %s", Sum(r.Failed).text("dead letter"), list(failed), r.Errors.text("error"))
	fmt.Fprintf(&b, "\nDelivered: %s; failed deliveries: %s", r.Delivered.times(), r.GivenUp.times())
	b.WriteString("\nBacklog: " + r.waits())
	if len(r.FailingDestinations) > 0 {
		fmt.Fprintf(&b, "\nFailing destinations: %s", strings.Join(firstOf(r.FailingDestinations), ", "))
	}
	return b.String()
}

// split returns the providers that sent events, and those that only did so in the previous period.
func (r Report) split() (came, silent []string) {
	for _, t := range r.Received {
		if t.Count > 0 {
			came = append(came, fmt.Sprintf("%s %d%s", t.Name, t.Count, t.change()))
		} else if t.Before > 0 {
			silent = append(silent, fmt.Sprintf("%s (%d before)", t.Name, t.Before))
		}
	}
	return came, silent
}

func (r Report) waits() string {
	var parts []string
	for _, w := range r.Waiting {
		if w.Count == 0 {
			continue
		}
		part := Trend{Count: w.Count}.number(w.Name)
		if w.Oldest != nil {
			part += fmt.Sprintf(", oldest %s", span(r.Until.Sub(*w.Oldest).Round(time.Minute)))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// span formats a duration without trailing zeros: "24h", "2h30m".
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}

// text returns "120 events (+20 %)", or "no events (100 before)".
func (t Trend) text(of string) string { return t.number(of) + t.change() }

// times returns "12 times (+20 %)", or "never (12 before)".
func (t Trend) times() string {
	if t.Count == 0 {
		return "never" + t.change()
	}
	return t.text("time")
}

func (t Trend) number(of string) string {
	switch t.Count {
	case 0:
		return "no " + plural(of)
	case 1:
		return "1 " + of
	default:
		return fmt.Sprintf("%d %s", t.Count, plural(of))
	}
}

func plural(of string) string {
	if stem, ok := strings.CutSuffix(of, "y"); ok {
		of = stem + "ie"
	}
	return of + "s"
}

// manyTimes is the ratio from which a factor is clearer than a percentage.
const manyTimes = 10

func (t Trend) change() string {
	switch {
	case t.Count == t.Before:
		return ""
	case t.Count == 0 || t.Before == 0:
		return fmt.Sprintf(" (%d before)", t.Before)
	case t.Count >= manyTimes*t.Before:
		return fmt.Sprintf(" (%d times as many)", t.Count/t.Before)
	default:
		return fmt.Sprintf(" (%+.0f %%)", 100*float64(t.Count-t.Before)/float64(t.Before))
	}
}

// list returns ": a, b, and 3 others".
func list(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(firstOf(names), ", ")
}

func firstOf(names []string) []string {
	if len(names) <= reportNames {
		return names
	}
	return append(append([]string{}, names[:reportNames]...), fmt.Sprintf("and %d others", len(names)-reportNames))
}
