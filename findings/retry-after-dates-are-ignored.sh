#!/usr/bin/env bash
# Retry-After: failsafe-go waits as long as it asks for in seconds, and comes back after 0.1 s if it is a date.
#
# Versions: failsafe-go 0.9.8, hashicorp/go-retryablehttp 0.7.8 (Go 1.26), got 16.1.0, ky 2.1.0 (npm, Node 20).
# Guess:    Retry-After is a number of seconds or a date (RFC 9110, section 10.2.3). A client that waits for the one waits for the other.
# Seen:     go-retryablehttp, got and ky do, for 429 and 503. failsafe-go's HTTP policy reads seconds only: with a date it uses its own
#           delay, as if the server hadn't asked for anything, and neither logs nor returns that.
# Hurts:    developers who deliver webhooks with it: endpoints and gateways that answer with dates, in maintenance or over a quota, get
#           the whole burst of retries at once, and the retries are used up before the time that the server named. Give the policy a
#           delay function that reads dates.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund got@16.1.0 ky@2.1.0
cat >go.mod <<'MOD'
module finding
go 1.26
require (
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/hashicorp/go-retryablehttp v0.7.8
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
)

func main() {
	for _, status := range []int{429, 503} {
		try(fmt.Sprint("failsafe-go, ", status), status, func(url string) error {
			policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(100*time.Millisecond, time.Second).Build()
			_, err := (&http.Client{Transport: failsafehttp.NewRoundTripper(nil, policy)}).Get(url)
			return err
		})
		try(fmt.Sprint("go-retryablehttp, ", status), status, func(url string) error {
			client := retryablehttp.NewClient()
			client.Logger = nil
			_, err := client.Get(url)
			return err
		})
	}
}

// try prints whether the second request waited for what the answer to the first one asked for.
func try(name string, status int, get func(url string) error) {
	var wg sync.WaitGroup
	waited := map[string]bool{}
	var lock sync.Mutex
	for _, form := range []string{"seconds", "date"} {
		wg.Go(func() {
			var times []time.Time
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				times = append(times, time.Now())
				if len(times) > 1 {
					return
				}
				w.Header().Set("Retry-After", "6")
				if form == "date" {
					w.Header().Set("Retry-After", time.Now().Add(7*time.Second).UTC().Format(http.TimeFormat))
				}
				w.WriteHeader(status)
			}))
			defer server.Close()
			if err := get(server.URL); err != nil || len(times) != 2 {
				fmt.Println("error:", len(times), "requests,", err)
				return
			}
			lock.Lock()
			waited[form] = times[1].Sub(times[0]) > 5*time.Second
			lock.Unlock()
		})
	}
	wg.Wait()
	fmt.Printf("%s: waits for seconds %v, for a date %v\n", name, waited["seconds"], waited["date"])
}
GO
go mod tidy 2>/dev/null
cat >try.mjs <<'JS'
import http from 'node:http';
import got from 'got';
import ky from 'ky';

async function waits(get, status, form) {
  const times = [];
  const server = http.createServer((request, response) => {
    times.push(Date.now());
    if (times.length > 1) return response.end();
    response.writeHead(status, { 'retry-after': form === 'date' ? new Date(Date.now() + 7000).toUTCString() : '6' }).end();
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  await get(`http://127.0.0.1:${server.address().port}`);
  server.close();
  return times[1] - times[0] > 5000;
}
for (const status of [429, 503]) {
  for (const [name, get] of Object.entries({ got, ky })) {
    const [seconds, date] = await Promise.all([waits(get, status, 'seconds'), waits(get, status, 'date')]);
    console.log(`${name}, ${status}: waits for seconds ${seconds}, for a date ${date}`);
  }
}
JS
{ go run . && node try.mjs; } | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
failsafe-go, 429: waits for seconds true, for a date false
go-retryablehttp, 429: waits for seconds true, for a date true
failsafe-go, 503: waits for seconds true, for a date false
go-retryablehttp, 503: waits for seconds true, for a date true
got, 429: waits for seconds true, for a date true
ky, 429: waits for seconds true, for a date true
got, 503: waits for seconds true, for a date true
ky, 503: waits for seconds true, for a date true
SEEN
echo "as seen"
