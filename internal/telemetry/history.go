package telemetry

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of a History: the number of points and series, whatever is measured.
const (
	historyStep   = 15 * time.Second
	historyPoints = 6 * 60 * 4 // six hours
	historySeries = 400
)

// historyPrefix begins the kept metrics, which are ours. Those of Temporal's SDK and Go's runtime would fill the space.
const historyPrefix = "holdfast_"

// History keeps our own metrics of the last hours in memory, at a fixed step, for installations without Prometheus. Counters are
// kept unchanged; of histograms, the count and the sum.
type History struct {
	gather func() []family
	step   time.Duration
	points int

	mu       sync.Mutex
	recorded int // number of points since the start
	last     time.Time
	rings    map[string]*ring
	// dropped contains the series that didn't fit.
	dropped map[string]bool
}

// ring keeps the last points of one series. A missing or invalid value is NaN, which JSON shows as null.
type ring struct {
	name   string
	labels map[string]string
	values []float64
}

// point returns nil for NaN.
func (r *ring) point(place int) *float64 {
	if v := r.values[place]; !math.IsNaN(v) {
		return &v
	}
	return nil
}

// History returns a history that Run fills.
func (t *Telemetry) History() *History { return newHistory(t.snapshot, historyStep, historyPoints) }

func newHistory(gather func() []family, step time.Duration, points int) *History {
	return &History{gather: gather, step: step, points: points, rings: map[string]*ring{}, dropped: map[string]bool{}}
}

// Run records a point at every step until ctx ends.
func (h *History) Run(ctx context.Context) {
	tick := time.NewTicker(h.step)
	defer tick.Stop()
	for {
		h.record(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *History) record(now time.Time) {
	families := h.gather() // before locking, because it may take long
	h.mu.Lock()
	defer h.mu.Unlock()
	place := h.recorded % h.points
	for _, r := range h.rings {
		r.values[place] = math.NaN()
	}
	for _, f := range families {
		if !strings.HasPrefix(f.Name, historyPrefix) {
			continue
		}
		for _, s := range f.Series {
			h.put(place, f.Name, s.Labels, s.Value)
			if s.Count != nil {
				count := float64(*s.Count)
				h.put(place, f.Name+"_count", s.Labels, &count)
				h.put(place, f.Name+"_sum", s.Labels, s.Sum)
			}
		}
	}
	h.recorded++
	h.last = now
}

func (h *History) put(place int, name string, labels map[string]string, value *float64) {
	if value == nil {
		return
	}
	key := seriesKey(name, labels)
	r := h.rings[key]
	if r == nil {
		if len(h.rings) >= historySeries {
			if len(h.dropped) < historySeries {
				h.dropped[key] = true
			}
			return
		}
		r = &ring{name: name, labels: labels, values: slices.Repeat([]float64{math.NaN()}, h.points)}
		h.rings[key] = r
	}
	r.values[place] = *value
}

func seriesKey(name string, labels map[string]string) string {
	sorted, size := make([]string, 0, 16), len(name)
	for l, value := range labels {
		sorted, size = append(sorted, l), size+len(l)+len(value)+2
	}
	slices.Sort(sorted)
	var b strings.Builder
	b.Grow(size)
	b.WriteString(name)
	for _, l := range sorted {
		b.WriteByte(0)
		b.WriteString(l)
		b.WriteByte(0)
		b.WriteString(labels[l])
	}
	return b.String()
}

// HistoryResult is the handler's response: the points of each series, oldest first; null for missing ones.
type HistoryResult struct {
	StepSeconds float64         `json:"step_s"`
	Until       time.Time       `json:"until"`
	Points      int             `json:"points"`
	Dropped     int             `json:"dropped_series"`
	Series      []HistorySeries `json:"series"`
}

// HistorySeries is one series of a HistoryResult.
type HistorySeries struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Values []*float64        `json:"values"`
}

// ServeHTTP responds with all series, or those whose names begin with ?name=…, over all points, or ?since=30m.
func (h *History) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	since := h.step * time.Duration(h.points)
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		since, err = time.ParseDuration(text)
		if err != nil || since <= 0 {
			w.WriteHeader(http.StatusBadRequest)
			writeJSON(w, map[string]any{"error": map[string]string{
				"code": "bad_request", "message": "since is a duration in s, m or h, such as 30m or 2h",
			}})
			return
		}
	}
	writeJSON(w, h.Read(r.URL.Query().Get("name"), since))
}

// Read returns the recent points of the series whose names begin with a prefix.
func (h *History) Read(prefix string, since time.Duration) HistoryResult {
	points := int(min(int64(since/h.step), int64(h.points)))
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(points, h.recorded, h.points)
	result := HistoryResult{
		StepSeconds: h.step.Seconds(), Until: h.last.UTC(), Points: n, Dropped: len(h.dropped), Series: []HistorySeries{},
	}
	for _, key := range slices.Sorted(maps.Keys(h.rings)) {
		ring := h.rings[key]
		if !strings.HasPrefix(ring.name, prefix) {
			continue
		}
		values := make([]*float64, n)
		for i := range n {
			values[i] = ring.point((h.recorded - n + i) % h.points)
		}
		result.Series = append(result.Series, HistorySeries{ring.name, ring.labels, values})
	}
	return result
}
