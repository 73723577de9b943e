package mapping

import (
	"context"
	"fmt"
	"math"
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// The limits of a plausible event time. Entities fold in the order of these times, so one event from the year 9999 would freeze
// its entity: such a time counts as missing.
const (
	earliestYear  = 1990
	maxFutureSkew = 48 * time.Hour
)

// timePrecision is the store's: entities fold in the order of times, which must be the same before and after storing.
const timePrecision = time.Microsecond

// timeRule is one possible place of an event's time.
type timeRule struct {
	expr     *jq.Expression
	units    []string
	isStrict bool
}

var timeUnits = []string{"rfc3339", "unix_s", "unix_ms", "rfc2822", "ruby"}

func (c *Compiler) newTimes(field string, defs []definition.Time) []timeRule {
	rules := make([]timeRule, 0, len(defs))
	for i, d := range defs {
		at := fmt.Sprintf("%s[%d]", field, i)
		c.Required(at+".expr", string(d.Expr))
		if len(d.Units) == 0 {
			c.Add(at+".units", "is missing: want some of %s", strings.Join(timeUnits, ", "))
		}
		for j, unit := range d.Units {
			c.OneOf(fmt.Sprintf("%s.units[%d]", at, j), unit, timeUnits...)
		}
		rules = append(rules, timeRule{expr: c.Expression(at+".expr", d.Expr), units: d.Units, isStrict: d.Strict})
	}
	return rules
}

// occurredAt returns the first plausible time that the rules find. A strict rule rejects an implausible value; null and ""
// count as missing.
func occurredAt(ctx context.Context, rules []timeRule, in jq.Input, receivedAt time.Time) (time.Time, bool, error) {
	for _, rule := range rules {
		v, err := rule.expr.First(ctx, in, nil)
		if jq.IsDeadline(err) {
			return time.Time{}, false, rule.expr.Failed(err)
		}
		s, _ := jq.Text(v)
		for _, unit := range rule.units {
			at, ok := ParseTime(s, unit)
			if ok && at.Year() >= earliestYear && at.Before(receivedAt.Add(maxFutureSkew)) {
				return at.UTC().Truncate(timePrecision), true, nil
			}
		}
		if rule.isStrict && v != nil && v != "" {
			return time.Time{}, false, event.Rejectf("invalid_time",
				"%s isn't a time (%s) between %d and two days from now", rule.expr.Source, strings.Join(rule.units, ", "), earliestYear)
		}
	}
	return time.Time{}, false, nil
}

// occurredElse returns the time of an event whose body has none: the previous system's, or the time of receipt, in which case
// isMissing is set.
func occurredElse(r event.Receipt) (at time.Time, isMissing bool) {
	at = r.ReceivedAt
	if isMissing = r.Imported == nil || r.Imported.OccurredAt.IsZero(); !isMissing {
		at = r.Imported.OccurredAt
	}
	return at.UTC().Truncate(timePrecision), isMissing
}

// ParseTime parses a time that is written in one of the units of a definition.
func ParseTime(s, unit string) (time.Time, bool) {
	switch unit {
	case "unix_s":
		return parseUnix(s, time.Second)
	case "unix_ms":
		return parseUnix(s, time.Millisecond)
	case "rfc2822":
		at, err := mail.ParseDate(s)
		return at, err == nil
	case "ruby":
		return parseRuby(s)
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	return at, err == nil
}

// rubyTime matches what Ruby's Time, DateTime and Rails' TimeWithZone print: a date, a time, perhaps the name of a zone, an
// offset.
var rubyTime = regexp.MustCompile(
	`^(?:[A-Z][a-z]{2}, )?(\d{4}-\d{2}-\d{2}|\d{2} [A-Z][a-z]{2} \d{4}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: [A-Za-z0-9+-]+)?? ` +
		`(UTC|[+-]\d{2}:?\d{2})$`)

// parseRuby parses a time as Ruby 2.7 to 4.0 and Rails 6.1 to 8.1 print it.
func parseRuby(s string) (time.Time, bool) {
	parts := rubyTime.FindStringSubmatch(s)
	if parts == nil {
		return time.Time{}, false
	}
	date, clock, offset := parts[1], parts[2], strings.ReplaceAll(parts[3], ":", "")
	layout := time.DateOnly
	if date[2] == ' ' {
		layout = "02 Jan 2006"
	}
	if offset == "UTC" {
		offset = "+0000"
	}
	at, err := time.Parse(layout+" 15:04:05 -0700", date+" "+clock+" "+offset)
	return at, err == nil
}

// parseUnix parses a count of units, with or without a fraction, to the microsecond.
func parseUnix(s string, unit time.Duration) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return time.Time{}, false
	}
	at := time.Unix(0, 0).Add(time.Duration(n) * unit)
	if part, err := strconv.ParseFloat("0."+fraction, 64); err == nil {
		at = at.Add(time.Duration(part * float64(unit)).Round(time.Microsecond))
	}
	return at, true
}
