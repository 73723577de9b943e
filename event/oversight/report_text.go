package oversight

import (
	"fmt"
	"strings"
	"time"
)

// reportNames bounds how many names a line of a report has; the others are counted.
const reportNames = 5

// Text is the report as people are told it: a line for what came, what failed and what waits, each with how it was the time
// before. It has names of providers, codes and receivers, and nothing of what was sent.
func (r Report) Text() string {
	const layout = "Jan 2 15:04"
	var b strings.Builder
	fmt.Fprintf(&b, "%s to %s UTC, beside the %s before", r.Since.UTC().Format(layout), r.Until.UTC().Format(layout),
		span(r.Until.Sub(r.Since)))
	came, silent := r.split()
	fmt.Fprintf(&b, "\ncame: %s%s", Sum(r.Received).text("event"), list(came))
	if len(silent) > 0 {
		fmt.Fprintf(&b, "\nsilent, and not before: %s", strings.Join(firstOf(silent), ", "))
	}
	fmt.Fprintf(&b, "\ncame again: %s", r.Repeated.times())
	var failed []string
	for _, t := range r.Failed {
		if t.Count > 0 {
			failed = append(failed, fmt.Sprintf("%s %d", t.Name, t.Count))
		}
	}
	fmt.Fprintf(&b, "\nfailed: %s%s; %s on the way", Sum(r.Failed).text("dead letter"), list(failed), r.Errors.text("error"))
	fmt.Fprintf(&b, "\ndelivered: %s; given up: %s", r.Delivered.times(), r.GivenUp.times())
	b.WriteString("\nwaits: " + r.waits())
	if len(r.InTrouble) > 0 {
		fmt.Fprintf(&b, "\nreceivers in trouble: %s", strings.Join(firstOf(r.InTrouble), ", "))
	}
	return b.String()
}

// split names the providers that have sent something, and those that have only done so before.
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
			part += fmt.Sprintf(", the oldest for %s", span(r.Until.Sub(*w.Oldest).Round(time.Minute)))
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// span is a duration without the zeros at its end: "24h", "2h30m".
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len("0s")]
		}
	}
	return text
}

// text is "120 events (+20 %)", or "no event (100 before)".
func (t Trend) text(of string) string { return t.number(of) + t.change() }

// times is "12 times (+20 %)", or "never (12 before)".
func (t Trend) times() string {
	if t.Count == 0 {
		return "never" + t.change()
	}
	return t.text("time")
}

func (t Trend) number(of string) string {
	switch t.Count {
	case 0:
		return "no " + of
	case 1:
		return "1 " + of
	default:
		if stem, ok := strings.CutSuffix(of, "y"); ok {
			of = stem + "ie"
		}
		return fmt.Sprintf("%d %ss", t.Count, of)
	}
}

// manyTimes is from when on a factor says more than a share.
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

// list is ": a, b, and 3 others".
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
