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
)

// tally counts the answers of a run.
type tally struct {
	mu         sync.Mutex
	started    time.Time
	want       int
	statuses   map[int]int
	failed     int // without any answer
	firstError error
	refused    int // answered with other than 2xx
	accepted   int // events that a Holdfast has accepted
	duplicates int // events that it has had before
	took       []time.Duration
}

func newTally(want int) *tally {
	return &tally{started: time.Now(), want: want, statuses: map[int]int{}}
}

func (t *tally) add(a sentAnswer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failed++
		if t.firstError == nil {
			t.firstError = err
		}
		return
	}
	t.statuses[a.status]++
	t.took = append(t.took, a.took)
	if !a.accepted() {
		t.refused++
		return
	}
	for _, e := range a.events().Events {
		if e.Status == "accepted" || e.Status == "spooled" {
			t.accepted++
		} else {
			t.duplicates++
		}
	}
}

func (t *tally) reportUntil(finished <-chan struct{}, w io.Writer) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-finished:
			return
		case <-ticker.C:
			t.mu.Lock()
			fmt.Fprintf(w, "%d of %d, %s, %d not accepted\n", t.done(), t.want, t.rate(), t.refused+t.failed)
			t.mu.Unlock()
		}
	}
}

func (t *tally) done() int { return len(t.took) + t.failed }

func (t *tally) rate() string {
	return fmt.Sprintf("%.0f/s", float64(t.done())/time.Since(t.started).Seconds())
}

// summarise prints the counts, and fails if something was not accepted.
func (t *tally) summarise(w io.Writer) error {
	slices.Sort(t.took)
	fields := []string{
		"requests", fmt.Sprintf("%d of %d in %s (%s)", t.done(), t.want, time.Since(t.started).Round(time.Millisecond), t.rate()),
	}
	for _, status := range slices.Sorted(maps.Keys(t.statuses)) {
		fields = append(fields, "  "+strconv.Itoa(status)+" "+http.StatusText(status), strconv.Itoa(t.statuses[status]))
	}
	if t.failed > 0 {
		fields = append(fields, "  no answer", fmt.Sprintf("%d, the first: %s", t.failed, t.firstError))
	}
	if t.accepted+t.duplicates > 0 {
		fields = append(fields, "accepted", strconv.Itoa(t.accepted), "duplicates", strconv.Itoa(t.duplicates))
	}
	if len(t.took) > 0 {
		fields = append(fields, "p50", t.percentile(50), "p99", t.percentile(99), "slowest", t.percentile(100))
	}
	if err := writeFields(w, fields...); err != nil {
		return err
	}
	if n := t.refused + t.failed + t.want - t.done(); n > 0 {
		return fmt.Errorf("%d of %d requests were not accepted", n, t.want)
	}
	return nil
}

// percentile is the nearest rank.
func (t *tally) percentile(p int) string {
	rank := (len(t.took)*p + 99) / 100
	return t.took[max(rank, 1)-1].Round(10 * time.Microsecond).String()
}
