package auth

import (
	"slices"
	"strconv"
	"time"

	"holdfast/event"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

// defaultTolerance is the tolerance that Stripe, Standard Webhooks, Slack and Retell document.
const defaultTolerance = 5 * time.Minute

// signedTime is the place and tolerance of the signed time; the zero value means none.
type signedTime struct {
	present bool
	// header, field and body are the possible places; one is set.
	header, field, body string
	unit                string
	tolerance           time.Duration
	part                string // its place in the request
}

func newSignedTime(p *definition.Problems, field string, d *definition.Timestamp) signedTime {
	if d == nil {
		return signedTime{}
	}
	t := signedTime{present: true, field: d.Field, body: d.Body, tolerance: defaultTolerance}
	t.unit = p.OneOf(field+".unit", d.Unit, "s", "ms", "s_or_ms", "rfc3339", "rfc3339_utc", "http_date")
	if places := []string{d.Header, d.Field, d.Body}; len(slices.DeleteFunc(places, func(s string) bool { return s == "" })) != 1 {
		p.Add(field, "want one of header, field and body")
	}
	if d.Header != "" {
		t.header = p.HeaderName(field+".header", d.Header)
		t.part = partOf(t.header)
	}
	if d.Body != "" {
		t.part = partOfBody(d.Body)
	}
	if d.Tolerance != nil {
		t.tolerance = time.Duration(*d.Tolerance)
	}
	if t.tolerance <= 0 || t.tolerance > time.Duration(event.Duration(24*time.Hour)) {
		p.Add(field+".tolerance", "want more than 0 and at most 24h")
	}
	return t
}

// read returns the time as signed and parsed.
func (t signedTime) read(r *Request, found signatures) (text string, at time.Time, err error) {
	if !t.present {
		return "", time.Time{}, nil
	}
	if text, err = t.find(r, found); err != nil {
		return "", time.Time{}, err
	}
	if text == "" {
		return "", time.Time{}, denial.At(denial.MissingTimestamp, t.part)
	}
	at, ok := t.parse(text)
	if !ok {
		return "", time.Time{}, denial.At(denial.MalformedTimestamp, t.part)
	}
	return text, at, nil
}

// find returns the time as signed; "" if there is none.
func (t signedTime) find(r *Request, found signatures) (string, error) {
	switch {
	case t.header != "":
		return r.header(t.header)
	case t.body != "":
		places, err := placesOf(r, t.body)
		return places[t.body].Text, err
	}
	return found.timestamp, nil
}

func (t signedTime) parse(text string) (time.Time, bool) {
	for _, layout := range timeLayouts[t.unit] {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	if timeLayouts[t.unit] != nil {
		return time.Time{}, false
	}
	n, ok := parseDigits(text)
	if t.unit == "ms" || t.unit == "s_or_ms" && n >= firstMilli {
		return time.UnixMilli(n), ok
	}
	return time.Unix(n, 0), ok
}

// firstMilli tells seconds from milliseconds: as the one it is in the year 5138, as the other in 1973.
const firstMilli = 100_000_000_000

// timeLayouts are the accepted forms of times in words, by unit; Sign uses the first. A time without a zone is UTC.
var timeLayouts = map[string][]string{
	"rfc3339":     {time.RFC3339Nano},
	"rfc3339_utc": {"2006-01-02T15:04:05.999999999", time.RFC3339Nano},
	"http_date":   {"Mon, 02 Jan 2006 15:04:05 GMT"},
}

// parseDigits parses 1 to 15 digits without a leading zero: every plausible time, and nothing else that a lenient parser would
// accept ("+5", "0x5", "5e3", " 5").
func parseDigits(s string) (int64, bool) {
	if s == "" || len(s) > 15 || s[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// check refuses a time that is too far off in either direction.
func (t signedTime) check(at, now time.Time) error {
	switch {
	case !t.present:
		return nil
	case now.Sub(at) > t.tolerance:
		return t.deny(denial.StaleTimestamp, t.part, at, now)
	case at.Sub(now) > t.tolerance:
		return t.deny(denial.TimestampFromFuture, t.part, at, now)
	}
	return nil
}

// deny adds to the reason how far off the time is. If the signature is invalid, the time is only claimed.
func (t signedTime) deny(why denial.Reason, part string, at, now time.Time) error {
	e := &denial.Error{Reason: why, Part: part}
	if t.present {
		skew := now.Sub(at)
		e.Skew, e.Tolerance = &skew, t.tolerance
	}
	return e
}

func (t signedTime) format(now time.Time) string {
	switch {
	case !t.present:
		return ""
	case t.unit == "ms":
		return strconv.FormatInt(now.UnixMilli(), 10)
	case timeLayouts[t.unit] != nil:
		return now.UTC().Format(timeLayouts[t.unit][0])
	}
	return strconv.FormatInt(now.Unix(), 10)
}
