#!/usr/bin/env bash
# Recurring events: four libraries read the same RRULE as other dates, and none of them has all dates of the standard.
#
# Versions: teambition/rrule-go 1.8.2 (Go 1.26), rrule 2.8.1, rrule-temporal 2.2.8, ical.js 2.2.1 (npm, Node 20), in a process whose
#           zone is UTC. ical.js has no time zones of its own, so it has no line for rules with one.
# Guess:    iCalendar's rules are 28 years old and RFC 5545 defines each case, so that a series has the same dates everywhere. It skips
#           dates that don't exist, reads a local time that doesn't exist with the offset before the gap, and takes the first of two.
# Seen:     ical.js moves February 29 to March 1, and ignores BYWEEKNO and the number in a yearly BYDAY=20MO: each week. rrule drops the
#           last date if UNTIL is in UTC, as it has to be, gives 12:30 for each 90 minutes from 9:00, and starts a series of whole days
#           at the moment of the call. rrule-go refuses whole days. Each does something else about 02:30 when the clocks
#           change; rrule-temporal alone drops the day in March, and alone is right in October.
# Hurts:    developers who expand the same series on both sides of an API, or store dates and compare them with a calendar's: bookings and
#           reminders are on other days, and a last one is missing. Exchange the expanded dates in UTC next to the rule.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
export TZ=UTC
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ical.js@2.2.1 rrule@2.8.1 rrule-temporal@2.2.8
cat >cases.json <<'JSON'
[
  ["February 29", "DTSTART:20240229T090000Z", "RRULE:FREQ=YEARLY;COUNT=3"],
  ["20th Monday", "DTSTART:20260518T090000Z", "RRULE:FREQ=YEARLY;BYDAY=20MO;COUNT=3"],
  ["Monday of week 1", "DTSTART:20240101T090000Z", "RRULE:FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO;COUNT=3"],
  ["each 90 minutes, at 9 and 12", "DTSTART:20260101T090000Z", "RRULE:FREQ=MINUTELY;INTERVAL=90;BYHOUR=9,12;COUNT=3"],
  ["whole days", "DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY;COUNT=2"],
  ["until 9:00 in Berlin", "DTSTART;TZID=Europe/Berlin:20260101T090000", "RRULE:FREQ=DAILY;UNTIL=20260103T080000Z"],
  ["02:30 in March", "DTSTART;TZID=Europe/Berlin:20270327T023000", "RRULE:FREQ=DAILY;COUNT=3"],
  ["02:30 in October", "DTSTART;TZID=Europe/Berlin:20271030T023000", "RRULE:FREQ=DAILY;COUNT=3"],
  ["each hour in October", "DTSTART;TZID=Europe/Berlin:20271031T010000", "RRULE:FREQ=HOURLY;COUNT=4"]
]
JSON
cat >dates.mjs <<'JS'
import { readFileSync } from 'node:fs';
import ICAL from 'ical.js';
import rrule from 'rrule';
import { RRuleTemporal } from 'rrule-temporal';

function* icaljs(lines) {
  const text = ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', ...lines, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n');
  const dates = new ICAL.Event(new ICAL.Component(ICAL.parse(text)).getFirstSubcomponent('vevent')).iterator();
  for (let date = dates.next(); date; date = dates.next()) yield date.toString();
}
const libraries = {
  rrule: (lines) => rrule.rrulestr(lines.join('\n')).all().map((date) => date.toISOString()),
  'rrule-temporal': (lines) => new RRuleTemporal({ rruleString: lines.join('\n') }).all().map((date) => date.toInstant().toString()),
  'ical.js': (lines) => (lines[0].includes('TZID') ? [] : [...icaljs(lines)]),
};
for (const [name, ...lines] of JSON.parse(readFileSync('cases.json'))) {
  for (const [library, expand] of Object.entries(libraries)) {
    // Only rrule's dates depend on the time of the call.
    const dates = expand(lines).map((date) => (Math.abs(new Date(date) - Date.now()) < 2 * 86400e3 ? 'now' : date.slice(2, 16)));
    if (dates.length > 0) console.log(`${name}, ${library}:`, name === 'whole days' ? dates[0].slice(0, 8) : dates.join(' '));
  }
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require github.com/teambition/rrule-go v1.8.2
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	_ "time/tzdata"

	"github.com/teambition/rrule-go"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	text, err := os.ReadFile("cases.json")
	check(err)
	var cases [][]string
	check(json.Unmarshal(text, &cases))
	for _, c := range cases {
		fmt.Printf("%s, rrule-go:", c[0])
		if set, err := rrule.StrToRRuleSet(strings.Join(c[1:], "\n")); err != nil {
			fmt.Print(" ", err)
		} else {
			for _, date := range set.All() {
				fmt.Print(" ", date.UTC().Format("06-01-02T15:04"))
			}
		}
		fmt.Println()
	}
}
GO
go mod tidy 2>/dev/null
{ go run . && node dates.mjs; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
February 29, rrule-go: 24-02-29T09:00 28-02-29T09:00 32-02-29T09:00
20th Monday, rrule-go: 26-05-18T09:00 27-05-17T09:00 28-05-15T09:00
Monday of week 1, rrule-go: 24-01-01T09:00 24-12-30T09:00 25-12-29T09:00
each 90 minutes, at 9 and 12, rrule-go: 26-01-01T09:00 26-01-01T12:00 26-01-02T09:00
whole days, rrule-go: StrToDtStart failed: bad TZID parameter format
until 9:00 in Berlin, rrule-go: 26-01-01T08:00 26-01-02T08:00 26-01-03T08:00
02:30 in March, rrule-go: 27-03-27T01:30 27-03-28T01:30 27-03-29T00:30
02:30 in October, rrule-go: 27-10-30T00:30 27-10-31T01:30 27-11-01T01:30
each hour in October, rrule-go: 27-10-30T23:00 27-10-31T01:00 27-10-31T02:00 27-10-31T03:00
February 29, rrule: 24-02-29T09:00 28-02-29T09:00 32-02-29T09:00
February 29, rrule-temporal: 24-02-29T09:00 28-02-29T09:00 32-02-29T09:00
February 29, ical.js: 24-02-29T09:00 25-03-01T09:00 26-03-01T09:00
20th Monday, rrule: 26-05-18T09:00 27-05-17T09:00 28-05-15T09:00
20th Monday, rrule-temporal: 26-05-18T09:00 27-05-17T09:00 28-05-15T09:00
20th Monday, ical.js: 26-05-18T09:00 26-05-25T09:00 26-06-01T09:00
Monday of week 1, rrule: 24-01-01T09:00 24-12-30T09:00 25-12-29T09:00
Monday of week 1, rrule-temporal: 24-01-01T09:00 24-12-30T09:00 25-12-29T09:00
Monday of week 1, ical.js: 24-01-08T09:00 24-01-15T09:00 24-01-22T09:00
each 90 minutes, at 9 and 12, rrule: 26-01-01T09:00 26-01-01T12:30 26-01-02T12:00
each 90 minutes, at 9 and 12, rrule-temporal: 26-01-01T09:00 26-01-01T12:00 26-01-02T09:00
each 90 minutes, at 9 and 12, ical.js: 26-01-01T09:00 26-01-01T12:00 26-01-02T09:00
whole days, rrule: now
whole days, rrule-temporal: 26-01-01
whole days, ical.js: 26-01-01
until 9:00 in Berlin, rrule: 26-01-01T08:00 26-01-02T08:00
until 9:00 in Berlin, rrule-temporal: 26-01-01T08:00 26-01-02T08:00 26-01-03T08:00
02:30 in March, rrule: 27-03-27T01:30 27-03-28T00:30 27-03-29T00:30
02:30 in March, rrule-temporal: 27-03-27T01:30 27-03-29T00:30 27-03-30T00:30
02:30 in October, rrule: 27-10-30T00:30 27-10-31T01:30 27-11-01T01:30
02:30 in October, rrule-temporal: 27-10-30T00:30 27-10-31T00:30 27-11-01T01:30
each hour in October, rrule: 27-10-31T00:00 27-10-31T01:00 27-10-31T02:00 27-10-31T03:00
each hour in October, rrule-temporal: 27-10-30T23:00 27-10-31T00:00 27-10-31T02:00 27-10-31T03:00
SEEN
echo "as seen"
