package telemetry

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// family is one metric with all its series.
type family struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Help   string   `json:"help,omitempty"`
	Series []series `json:"series"`
}

// series is one combination of labels. Counters and gauges have a value, histograms and summaries a count and a sum; buckets are
// cumulative, by their upper bound.
type series struct {
	Labels  map[string]string `json:"labels,omitempty"`
	Value   *float64          `json:"value,omitempty"`
	Count   *uint64           `json:"count,omitempty"`
	Sum     *float64          `json:"sum,omitempty"`
	Buckets map[string]uint64 `json:"buckets,omitempty"`
}

// JSONHandler serves the metrics as JSON: the same numbers, for installations without Prometheus.
func (t *Telemetry) JSONHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"metrics": t.snapshot()})
	})
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text) // the connection may be closed
}

// snapshot leaves out metrics that can't be gathered, like Handler.
func (t *Telemetry) snapshot() []family {
	gathered, _ := t.registry.Gather()
	families := make([]family, 0, len(gathered))
	for _, g := range gathered {
		f := family{Name: g.GetName(), Type: typeOf(g.GetType()), Help: g.GetHelp(), Series: []series{}}
		for _, m := range g.GetMetric() {
			f.Series = append(f.Series, newSeries(m))
		}
		families = append(families, f)
	}
	return families
}

func typeOf(t dto.MetricType) string {
	switch t {
	case dto.MetricType_COUNTER:
		return "counter"
	case dto.MetricType_GAUGE:
		return "gauge"
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		return "histogram"
	case dto.MetricType_SUMMARY:
		return "summary"
	default:
		return "untyped"
	}
}

func newSeries(m *dto.Metric) series {
	s := series{Labels: map[string]string{}}
	for _, l := range m.GetLabel() {
		s.Labels[l.GetName()] = l.GetValue()
	}
	switch {
	case m.GetCounter() != nil:
		s.Value = number(m.GetCounter().GetValue())
	case m.GetGauge() != nil:
		s.Value = number(m.GetGauge().GetValue())
	case m.GetUntyped() != nil:
		s.Value = number(m.GetUntyped().GetValue())
	case m.GetSummary() != nil:
		count := m.GetSummary().GetSampleCount()
		s.Count, s.Sum = &count, number(m.GetSummary().GetSampleSum())
	case m.GetHistogram() != nil:
		count := m.GetHistogram().GetSampleCount()
		s.Count, s.Sum = &count, number(m.GetHistogram().GetSampleSum())
		s.Buckets = map[string]uint64{}
		for _, b := range m.GetHistogram().GetBucket() {
			s.Buckets[strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64)] = b.GetCumulativeCount()
		}
	}
	return s
}

// number returns nil for values that JSON can't represent.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
