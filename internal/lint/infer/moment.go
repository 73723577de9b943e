package infer

import (
	"encoding/json"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of fields with times, the most likely ones of an event first.
var timeNames = []string{
	"occurredat", "eventtime", "eventtimestamp", "triggertime", "triggeredat", "emittedat", "eventdate", "createdat", "createdon",
	"created",
	"timestamp", "createdatms", "time", "ts", "date", "datetime", "createtime", "publishedat", "sentat", "firedat",
	"updatedat", "modifiedat", "changedat", "updatetime", "datemodified", "modifiedon", "lastmodified", "datecreated",
}

// A name that isn't among them may be a time by its end, unless it is one that is planned, or of a period.
var (
	momentEnds = regexp.MustCompile(`(?:at|time|timestamp|date|datetime|ts|gmt|on|ms)$`)
	otherTimes = regexp.MustCompile(
		`expir|start|begin|end(?:s|ed)?(?:at|time|date|on)|due|birth|until|next|schedul|valid|deadline|retry|renew`)
)

// changes are the names of the times at which a thing has changed: within a thing they are the event's, and its creation isn't.
var changes = []string{
	"updatedat", "modifiedat", "changedat", "updatetime", "datemodified", "modifiedon", "lastmodified", "timestamp", "datetime",
}

// form is how a time is written.
type form struct {
	unit       string
	isZoneless bool
	// edit is jq that makes RFC 3339 of the value; "" if it is read as it is.
	edit string
}

func (f form) expression(at *field) string {
	if f.edit == "" {
		return at.expression()
	}
	return at.expression() + " | strings | " + f.edit
}

// timeOf returns the field with the time of the event, and its form; nil if there is none.
func timeOf(fields []field, kind *field) (*field, form) {
	var best *field
	var bestForm form
	bestRank := 1 << 20
	for i := range fields {
		f := &fields[i]
		name := slices.Index(timeNames, f.words())
		if name < 0 && momentEnds.MatchString(f.words()) && !otherTimes.MatchString(f.words()) {
			name = len(timeNames)
		}
		if name < 0 || slices.ContainsFunc(f.parent(), func(name string) bool { return slices.Contains(before, plain(name)) }) {
			continue
		}
		read, ok := formOf(f.value)
		if !ok {
			continue
		}
		if rank := timeRank(f, kind, name); rank < bestRank {
			best, bestForm, bestRank = f, read, rank
		}
	}
	return best, bestForm
}

// timeRank is lower for a time that is more likely the event's: next to its type, then above it, then in what the event is about.
func timeRank(f, kind *field, name int) int {
	switch {
	case kind != nil && samePlace(f.parent(), kind.parent()):
		return name
	case len(f.names) == 1:
		return 100 + name
	case slices.Contains(changes, f.words()):
		return 200 + 50*len(f.names) + slices.Index(changes, f.words())
	}
	return 1000 + 50*len(f.names) + name
}

var (
	noColon = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d{4}$`)
	noZone  = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?$`)
	spaced  = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$`)
)

// formOf recognizes a time between 2001 and 2100.
func formOf(v any) (form, bool) {
	switch v := v.(type) {
	case float64:
		return formOfNumber(v)
	case json.Number:
		n, err := v.Float64()
		f, ok := formOfNumber(n)
		return f, ok && err == nil
	case string:
		return formOfText(v)
	}
	return form{}, false
}

func formOfNumber(n float64) (form, bool) {
	switch {
	case n > 978e6 && n < 4102e6:
		return form{unit: "unix_s"}, true
	case n > 978e9 && n < 4102e9:
		return form{unit: "unix_ms"}, true
	}
	return form{}, false
}

func formOfText(s string) (form, bool) {
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return form{unit: "rfc3339"}, true
	}
	switch {
	case noColon.MatchString(s):
		return form{unit: "rfc3339", edit: `.[:-2] + ":" + .[-2:]`}, true
	case spaced.MatchString(s):
		return form{unit: "rfc3339", edit: `sub(" "; "T")`}, true
	case noZone.MatchString(s) && strings.Contains(s, "T"):
		return form{unit: "rfc3339", edit: `. + "Z"`, isZoneless: true}, true
	case noZone.MatchString(s):
		return form{unit: "rfc3339", edit: `sub(" "; "T") + "Z"`, isZoneless: true}, true
	}
	if _, err := mail.ParseDate(s); err == nil {
		return form{unit: "rfc2822"}, true
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return form{}, false
	}
	return formOfNumber(n)
}
