package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/operator/console/frame"
)

// Plot is a figure and its line.
type Plot struct {
	Title, Unit string
	Points      []float64
	// From is where the points begin, as a fraction of the whole time: the process may be younger.
	From       float64
	Last, Most float64
	// PeakAt is when Most was measured; zero without a value.
	PeakAt time.Time
	Bad    bool
	taken  int // points before thinning
}

// maxPoints bounds a plot's points: more than the width can't be seen.
const maxPoints = 180

// All returns the plots of a time range that ends now; none without a history.
func All(history History, window time.Duration) []Plot { return all(history, window, time.Now()) }

func all(history History, window time.Duration, now time.Time) (all []Plot) {
	if history == nil {
		return nil
	}
	for _, m := range measures {
		step, series := history(m.metric, window)
		p := m.plot(step, series)
		p.PeakAt = peakAt(p.Points, p.taken, step, now)
		p.From = max(1-float64(p.taken)*step.Seconds()/window.Seconds(), 0)
		all = append(all, p)
	}
	return all
}

func (m measure) plot(step time.Duration, all []Series) Plot {
	p := Plot{Title: m.title, Unit: m.unit, Bad: m.bad}
	var sum []float64
	for _, s := range all {
		if s.Name != m.metric || m.label != "" && s.Labels[m.label] != m.value {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(s.Values))
		}
		for i := range s.Values {
			sum[i] += m.at(s.Values, i, step) * m.scale
		}
	}
	if m.isCounter && len(sum) > 0 {
		sum = sum[1:] // the first point has no predecessor
	}
	p.Points, p.taken = thin(sum, maxPoints), len(sum)
	for _, v := range p.Points {
		p.Most = max(p.Most, v)
	}
	if len(sum) > 0 {
		p.Last = sum[len(sum)-1]
	}
	return p
}

// peakAt returns when the highest point was measured, the latest of equal ones; zero if none is above 0.
func peakAt(points []float64, taken int, step time.Duration, now time.Time) time.Time {
	if len(points) == 0 || slices.Max(points) == 0 {
		return time.Time{}
	}
	highest := slices.Max(points)
	last := len(points) - 1
	for points[last] != highest {
		last--
	}
	before := time.Duration(float64(len(points)-1-last) * float64(taken) / float64(len(points)) * float64(step))
	return now.Add(-before).Truncate(time.Second)
}

// thin keeps the highest of each group of points.
func thin(points []float64, most int) []float64 {
	if len(points) <= most {
		return points
	}
	thinned := make([]float64, most)
	for i, v := range points {
		place := i * most / len(points)
		thinned[place] = max(thinned[place], v)
	}
	return thinned
}

// Figure returns the last value as text.
func (p Plot) Figure() string { return figure(p.Last) + unitOf(p.Unit) }

// Highest returns the highest value as text.
func (p Plot) Highest() string { return figure(p.Most) + unitOf(p.Unit) }

func unitOf(unit string) string {
	if unit == "" || unit[0] == '/' {
		return unit
	}
	return " " + unit
}

// figure rounds to a readable number of digits.
func figure(v float64) string {
	switch {
	case v == math.Trunc(v), v >= 100:
		return frame.Number(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// The size of a plot in its own units: see templates/now.html of the console.
const (
	plotWidth  = 300
	plotHeight = 60
)

// Label describes the plot in words, for screen readers.
func (p Plot) Label() string {
	return fmt.Sprintf("%s: now %s, peak %s", p.Title, p.Figure(), p.Highest())
}

// Line returns the points of the line.
func (p Plot) Line() string {
	var line strings.Builder
	for i, v := range p.Points {
		x := plotWidth * (p.From + (1-p.From)*float64(i)/float64(max(len(p.Points)-1, 1)))
		y := plotHeight - (plotHeight-4)*v/max(p.Most, 1e-9)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	return line.String()
}

// Area returns the area under the line.
func (p Plot) Area() string {
	return fmt.Sprintf("%.1f,%d %s%d,%d", plotWidth*p.From, plotHeight, p.Line(), plotWidth, plotHeight)
}

// Series is one metric of the last hours, oldest point first; nil marks a missing value.
type Series struct {
	Name   string
	Labels map[string]string
	Values []*float64
}

// History returns the recent metrics whose names begin with a prefix, and the time between two points.
type History func(prefix string, since time.Duration) (step time.Duration, all []Series)

// measure defines a plot.
type measure struct {
	title, unit, metric string
	label, value        string // only series with this label; "" takes all
	isCounter           bool   // plotted as a rate per second
	scale               float64
	bad                 bool
}

var measures = []measure{
	{title: "Events received", unit: "/s", metric: "holdfast_events_received_total", isCounter: true, scale: 1},
	{title: "Events processed", unit: "/s", metric: "holdfast_event_duration_seconds_count", isCounter: true, scale: 1},
	{
		title: "Answer to senders, p95", unit: "ms", metric: "holdfast_ack_last_minute_seconds", label: "figure", value: "p95",
		scale: 1000,
	},
	{title: "Requests refused", unit: "/s", metric: "holdfast_requests_refused_total", isCounter: true, scale: 1, bad: true},
	{title: "Waiting in the inbox", metric: "holdfast_inbox_depth", scale: 1, bad: true},
	{title: "Delivery attempts", unit: "/s", metric: "holdfast_delivery_attempts_total", isCounter: true, scale: 1},
	{title: "Pending deliveries", metric: "holdfast_deliveries_open", scale: 1},
	{title: "Open dead letters", metric: "holdfast_dead_letters_open", scale: 1, bad: true},
}

// at returns the value at a point; for a counter, its increase since the previous point. A counter that falls has been reset.
func (m measure) at(values []*float64, i int, step time.Duration) float64 {
	if values[i] == nil {
		return 0
	}
	if !m.isCounter {
		return *values[i]
	}
	if i == 0 {
		return 0
	}
	before := 0.0
	if values[i-1] != nil {
		before = *values[i-1]
	}
	return max(*values[i]-before, 0) / step.Seconds()
}
