package loadgen

import (
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"holdfast/internal/ledger"
)

// Counts are the answers so far.
type Counts struct {
	Requests int64                 `json:"requests"`
	Events   int64                 `json:"events"`
	Kinds    map[ledger.Kind]int64 `json:"kinds"`
	// OK counts requests that were answered with 2xx.
	OK       int64         `json:"ok"`
	Statuses map[int]int64 `json:"statuses"`
	// NoAnswer counts timeouts, resets and failed connections.
	NoAnswer int64 `json:"no_answer"`
	// Accepted, Spooled and Duplicates count events, as reported in Holdfast's answers; other targets report nothing.
	Accepted   int64 `json:"accepted"`
	Spooled    int64 `json:"spooled"`
	Duplicates int64 `json:"duplicates"`
}

func (c Counts) clone() Counts {
	c.Kinds, c.Statuses = maps.Clone(c.Kinds), maps.Clone(c.Statuses)
	return c
}

// Result summarizes one run.
type Result struct {
	Counts
	Run     string        `json:"run"`
	Seed    uint64        `json:"seed"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// PerSecond is the rate of requests answered with 2xx.
	PerSecond float64 `json:"per_second"`
	// Latency covers answered requests, whatever the status, from when each was due. In a closed loop that is when it was sent.
	Latency Latency  `json:"latency"`
	Seconds []Second `json:"seconds"`
	// FirstError is the error of the first request without an answer.
	FirstError string `json:"first_error,omitempty"`
}

// Latency sums up a histogram.
type Latency struct {
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Max  time.Duration `json:"max_ns"`
	// Distribution is for plots: each step halves the rest.
	Distribution []Point `json:"distribution"`
}

// Point means that the share Quantile (0 to 1) of all answers took at most Took.
type Point struct {
	Quantile float64       `json:"quantile"`
	Took     time.Duration `json:"took_ns"`
	Count    int64         `json:"count"`
}

// Second is one second of a run, by the time of the answers.
type Second struct {
	At       int           `json:"at"` // since the start
	Requests int64         `json:"requests"`
	OK       int64         `json:"ok"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	Max      time.Duration `json:"max_ns"`
}

func (r *record) result(o Options, ended time.Time) Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSecond()
	elapsed := ended.Sub(r.started)
	return Result{
		Counts: r.counts.clone(), Run: o.Run, Seed: o.Seed, Started: r.started, Elapsed: elapsed,
		PerSecond: float64(r.counts.OK) / max(elapsed.Seconds(), 1e-9), Latency: latencyOf(r.latency), Seconds: r.seconds,
		FirstError: r.err,
	}
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	l := Latency{
		Mean: time.Duration(h.Mean() * float64(time.Microsecond)),
		P50:  at(h, 50), P90: at(h, 90), P99: at(h, 99), P999: at(h, 99.9), Max: micros(h.Max()),
	}
	if h.TotalCount() == 0 {
		return Latency{}
	}
	for _, b := range h.CumulativeDistribution() {
		l.Distribution = append(l.Distribution, Point{b.Quantile / 100, micros(b.ValueAt), b.Count})
	}
	return l
}

func at(h *hdrhistogram.Histogram, quantile float64) time.Duration {
	return micros(h.ValueAtQuantile(quantile))
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
