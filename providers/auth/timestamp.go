package auth

import (
	"strconv"
	"time"

	"holdfast/event"
	"holdfast/providers/definition"
)

// defaultTolerance is the window of Stripe, Standard Webhooks, Slack and Retell.
const defaultTolerance = 5 * time.Minute

// signedTime is the compiled place and window of the signed time; the zero value is a scheme without one.
type signedTime struct {
	present       bool
	header, field string
	milliseconds  bool
	tolerance     time.Duration
}

func newSignedTime(p *definition.Problems, field string, d *definition.Timestamp) signedTime {
	if d == nil {
		return signedTime{}
	}
	t := signedTime{present: true, field: d.Field, tolerance: defaultTolerance}
	t.milliseconds = p.OneOf(field+".unit", d.Unit, "s", "ms") == "ms"
	if (d.Header == "") == (d.Field == "") {
		p.Add(field, "want either header or field")
	}
	if d.Header != "" {
		t.header = p.HeaderName(field+".header", d.Header)
	}
	if d.Tolerance != nil {
		t.tolerance = time.Duration(*d.Tolerance)
	}
	if t.tolerance <= 0 || t.tolerance > time.Duration(event.Duration(24*time.Hour)) {
		p.Add(field+".tolerance", "want more than 0 and at most 24h")
	}
	return t
}

// read gives the time as it was signed and what it means.
func (t signedTime) read(r *Request, found signatures) (text string, at time.Time, err error) {
	if !t.present {
		return "", time.Time{}, nil
	}
	text = found.timestamp
	if t.header != "" {
		if text, err = r.header(t.header); err != nil {
			return "", time.Time{}, err
		}
	}
	if text == "" {
		return "", time.Time{}, deny(ReasonMissingTimestamp)
	}
	n, ok := parseDigits(text)
	if !ok {
		return "", time.Time{}, deny(ReasonMalformedTimestamp)
	}
	if t.milliseconds {
		return text, time.UnixMilli(n), nil
	}
	return text, time.Unix(n, 0), nil
}

// parseDigits reads 1 to 15 digits without a leading zero: every plausible time, and nothing else that a lenient parser
// would take ("+5", "0x5", "5e3", " 5").
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

// check refuses a time that is too far away, both ways.
func (t signedTime) check(at, now time.Time) error {
	switch {
	case !t.present:
		return nil
	case now.Sub(at) > t.tolerance:
		return deny(ReasonStaleTimestamp)
	case at.Sub(now) > t.tolerance:
		return deny(ReasonTimestampFromFuture)
	}
	return nil
}

func (t signedTime) format(now time.Time) string {
	switch {
	case !t.present:
		return ""
	case t.milliseconds:
		return strconv.FormatInt(now.UnixMilli(), 10)
	}
	return strconv.FormatInt(now.Unix(), 10)
}
