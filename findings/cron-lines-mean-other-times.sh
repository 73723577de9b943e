#!/usr/bin/env bash
# One cron line in six libraries: other days, and on the two days of a clock change none, one or two runs, or an hour without any.
#
# Versions: robfig/cron 3.0.1, netresearch/go-cron 0.9.1, adhocore/gronx 1.20.4 (Go 1.26), croner 11.0.1, cron-parser 5.10.6,
#           cron 4.4.0 (npm, Node 20), each with its defaults.
# Guess:    cron lines have been the same for 40 years: two restricted day fields mean either of them, 7 is Sunday, a time that the
#           clocks skip runs once, after it, a time that they repeat runs once, and a job of every 30 minutes runs every 30 minutes.
# Seen:     "the 1st, and Mondays" runs only on Mondays that are a 1st in netresearch's drop-in replacement of robfig/cron, without an
#           error: July goes from 5 runs to none. In March, 02:30 runs not at all in robfig and gronx, at 03:00 in croner and cron, and at
#           03:30 in the others. In October it runs twice in robfig and netresearch, and once in the others, but an hour later in gronx,
#           where a job of every 30 minutes pauses for an hour, too. 7 is an error in robfig only.
# Hurts:    developers who move schedules between services in Go and Node, or to another library: reports and payouts run twice or not at
#           all, one day a year. Keep such jobs out of 01:00 to 03:00, or schedule them in UTC, and restrict one day field only.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund cron@4.4.0 cron-parser@5.10.6 croner@11.0.1
cat >cases.json <<'JSON'
[
  ["1st and Mondays", "0 9 1 * 1", "UTC", "2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z"],
  ["Sundays", "0 9 * * 7", "UTC", "2026-07-01T00:00:00Z", "2026-07-07T00:00:00Z"],
  ["02:30 in March", "30 2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  ["02:30 in October", "30 2 * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
  ["each half hour in October", "*/30 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-25T02:00:00Z"]
]
JSON
cat >times.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { CronTime } from 'cron';
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';

const libraries = {
  croner: (line, tz) => { const c = new Cron(line, { timezone: tz, paused: true }); return (t) => c.nextRun(t); },
  'cron-parser': (line, tz) => (t) => CronExpressionParser.parse(line, { tz, currentDate: t }).next().toDate(),
  cron: (line, tz) => { const c = new CronTime(line, tz); return (t) => c.getNextDateFrom(t, tz).toJSDate(); },
};
for (const [name, line, zone, from, until] of JSON.parse(readFileSync('cases.json'))) {
  for (const [library, open] of Object.entries(libraries)) {
    const next = open(line, zone);
    const times = [];
    // A run on the first moment counts, and one on the last doesn't.
    for (let t = next(new Date(Date.parse(from) - 1000)); t < new Date(until); t = next(t)) times.push(t.toISOString().slice(5, 16));
    console.log(`${name}, ${library}:`, times.join(' ') || 'none');
  }
}
JS
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/adhocore/gronx v1.20.4
	github.com/netresearch/go-cron v0.9.1
	github.com/robfig/cron/v3 v3.0.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
	netresearch "github.com/netresearch/go-cron"
	robfig "github.com/robfig/cron/v3"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func show(name string, next func(time.Time) time.Time, from, until time.Time) {
	fmt.Printf("%s:", name)
	none := true
	// A run on the first moment counts, and one on the last doesn't.
	for t := next(from.Add(-time.Second)); t.Before(until); t = next(t) {
		fmt.Print(" ", t.UTC().Format("01-02T15:04"))
		none = false
	}
	if none {
		fmt.Print(" none")
	}
	fmt.Println()
}

func main() {
	text, err := os.ReadFile("cases.json")
	check(err)
	var cases [][5]string
	check(json.Unmarshal(text, &cases))
	for _, c := range cases {
		name, line := c[0], c[1]
		zone, err := time.LoadLocation(c[2])
		check(err)
		from, err := time.ParseInLocation(time.RFC3339, c[3], zone)
		check(err)
		from = from.In(zone)
		until, err := time.Parse(time.RFC3339, c[4])
		check(err)
		if s, err := robfig.ParseStandard(line); err != nil {
			fmt.Printf("%s, robfig: %v\n", name, err)
		} else {
			show(name+", robfig", s.Next, from, until)
		}
		s, err := netresearch.ParseStandard(line)
		check(err)
		show(name+", netresearch", s.Next, from, until)
		show(name+", gronx", func(t time.Time) time.Time {
			next, err := gronx.NextTickAfter(line, t, false)
			check(err)
			return next
		}, from, until)
	}
}
GO
go mod tidy 2>/dev/null
{ go run . && node times.mjs; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
1st and Mondays, robfig: 07-01T09:00 07-06T09:00 07-13T09:00 07-20T09:00 07-27T09:00
1st and Mondays, netresearch: none
1st and Mondays, gronx: 07-01T09:00 07-06T09:00 07-13T09:00 07-20T09:00 07-27T09:00
Sundays, robfig: end of range (7) above maximum (6): 7
Sundays, netresearch: 07-05T09:00
Sundays, gronx: 07-05T09:00
02:30 in March, robfig: none
02:30 in March, netresearch: 03-29T01:30
02:30 in March, gronx: none
02:30 in October, robfig: 10-25T00:30 10-25T01:30
02:30 in October, netresearch: 10-25T00:30 10-25T01:30
02:30 in October, gronx: 10-25T01:30
each half hour in October, robfig: 10-24T23:00 10-24T23:30 10-25T00:00 10-25T00:30 10-25T01:00 10-25T01:30
each half hour in October, netresearch: 10-24T23:00 10-24T23:30 10-25T00:00 10-25T00:30 10-25T01:00 10-25T01:30
each half hour in October, gronx: 10-24T23:00 10-24T23:30 10-25T01:00 10-25T01:30
1st and Mondays, croner: 07-01T09:00 07-06T09:00 07-13T09:00 07-20T09:00 07-27T09:00
1st and Mondays, cron-parser: 07-01T09:00 07-06T09:00 07-13T09:00 07-20T09:00 07-27T09:00
1st and Mondays, cron: 07-01T09:00 07-06T09:00 07-13T09:00 07-20T09:00 07-27T09:00
Sundays, croner: 07-05T09:00
Sundays, cron-parser: 07-05T09:00
Sundays, cron: 07-05T09:00
02:30 in March, croner: 03-29T01:00
02:30 in March, cron-parser: 03-29T01:30
02:30 in March, cron: 03-29T01:00
02:30 in October, croner: 10-25T00:30
02:30 in October, cron-parser: 10-25T00:30
02:30 in October, cron: 10-25T00:30
each half hour in October, croner: 10-24T23:00 10-24T23:30 10-25T00:00 10-25T00:30 10-25T01:00 10-25T01:30
each half hour in October, cron-parser: 10-24T23:00 10-24T23:30 10-25T00:00 10-25T00:30 10-25T01:00 10-25T01:30
each half hour in October, cron: 10-24T23:00 10-24T23:30 10-25T00:00 10-25T00:30 10-25T01:00 10-25T01:30
SEEN
echo "as seen"
