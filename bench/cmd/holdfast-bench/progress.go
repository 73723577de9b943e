package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdfast/bench/loadgen"
	"holdfast/internal/cli"
	"holdfast/internal/ledger"
)

// watchLoad shows a load's progress, as a bar on a terminal and as a line every other second elsewhere, until stop is called.
func watchLoad(w io.Writer, g *loadgen.Generator, o loadgen.Options) (stop func()) {
	live := cli.IsTerminal(w)
	interval := 2 * time.Second
	if live {
		interval = cli.ProgressInterval
	}
	var (
		watcher  sync.WaitGroup
		finished = make(chan struct{})
		started  = time.Now()
	)
	watcher.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for before := int64(0); ; {
			select {
			case <-finished:
				return
			case <-ticker.C:
				counts := g.Counts()
				rate := float64(counts.OK-before) / interval.Seconds()
				before = counts.OK
				cli.WriteProgress(w, live, loadLine(counts, o, time.Since(started), rate))
			}
		}
	})
	return func() {
		close(finished)
		watcher.Wait()
		if live {
			fmt.Fprintln(w)
		}
	}
}

func loadLine(c loadgen.Counts, o loadgen.Options, elapsed time.Duration, rate float64) string {
	share := 0.0
	if o.Duration > 0 {
		share = elapsed.Seconds() / o.Duration.Seconds()
	}
	if o.Count > 0 {
		share = max(share, float64(c.Requests)/float64(o.Count))
	}
	return fmt.Sprintf("%s  %d requests, %.0f/s, %d not acknowledged", cli.Bar(share), c.Requests, rate, c.Requests-c.OK)
}

// writeLoad prints the responses and the latencies.
func writeLoad(w io.Writer, r *loadgen.Result) error {
	fields := []string{
		"run", fmt.Sprintf("%s, seed %d", r.Run, r.Seed),
		"requests", fmt.Sprintf("%d in %s", r.Requests, r.Elapsed.Round(time.Millisecond)),
		"acknowledged", fmt.Sprintf("%.1f/s", r.PerSecond),
	}
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		fields = append(fields, "  "+strconv.Itoa(status)+" "+http.StatusText(status), strconv.FormatInt(r.Statuses[status], 10))
	}
	if r.NoAnswer > 0 {
		fields = append(fields, "  no answer", fmt.Sprintf("%d, the first: %s", r.NoAnswer, r.FirstError))
	}
	for _, kind := range []ledger.Kind{ledger.KindDuplicate, ledger.KindBadSignature} {
		if n := r.Kinds[kind]; n > 0 {
			fields = append(fields, "sent as "+string(kind), strconv.FormatInt(n, 10))
		}
	}
	if r.Accepted+r.Spooled+r.Duplicates > 0 {
		fields = append(fields, "accepted", strconv.FormatInt(r.Accepted, 10), "spooled", spooledText(r.Spooled),
			"duplicates", strconv.FormatInt(r.Duplicates, 10))
	}
	l := r.Latency
	fields = append(fields, "latency", fmt.Sprintf("p50 %s  p90 %s  p99 %s  p99.9 %s  max %s",
		short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.Max)))
	return cli.WriteFields(w, fields...)
}

// spooledText explains why accepted plus spooled events can exceed the sent ones: an event in the inbox is deduplicated only
// when it is started.
func spooledText(n int64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (Temporal was slow; duplicates among them are detected when they start)", n)
}
