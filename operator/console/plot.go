package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast/operator/console/frame"
)

// Series is one metric of the last hours: its points, oldest first; nil where there was none.
type Series struct {
	Name   string
	Labels map[string]string
	Values []*float64
}

// History gives the metrics whose names begin with a prefix, over the last time, and the time between two points.
type History func(prefix string, since time.Duration) (step time.Duration, all []Series)

// plot is a figure and how it came about.
type plot struct {
	Title, Unit string
	Points      []float64
	// From is where the points begin, as a part of the whole time: the process may be younger.
	From       float64
	Last, Most float64
	Bad        bool
	taken      int // points, before they were thinned
}

// maxPoints is how many points a plot has: more than there is width for says nothing.
const maxPoints = 180

// measure is what a plot shows of the metrics.
type measure struct {
	title, unit, metric string
	label, value        string // only the series with this label; "" takes all
	isCounter           bool   // whose rise a second is shown
	scale               float64
	bad                 bool
}

var measures = []measure{
	{title: "Events received", unit: "/s", metric: "holdfast_events_received_total", isCounter: true, scale: 1},
	{title: "Events worked off", unit: "/s", metric: "holdfast_event_duration_seconds_count", isCounter: true, scale: 1},
	{
		title: "Answer to senders, p95", unit: "ms", metric: "holdfast_ack_last_minute_seconds", label: "figure", value: "p95",
		scale: 1000,
	},
	{title: "Requests refused", unit: "/s", metric: "holdfast_requests_refused_total", isCounter: true, scale: 1, bad: true},
	{title: "Waiting in the inbox", metric: "holdfast_inbox_depth", scale: 1, bad: true},
	{title: "Delivery attempts", unit: "/s", metric: "holdfast_delivery_attempts_total", isCounter: true, scale: 1},
	{title: "Deliveries open", metric: "holdfast_deliveries_open", scale: 1},
	{title: "Dead letters open", metric: "holdfast_dead_letters_open", scale: 1, bad: true},
}

func (c *Console) plots(window time.Duration) (all []plot) {
	if c.History == nil {
		return nil
	}
	for _, m := range measures {
		step, series := c.History(m.metric, window)
		p := m.plot(step, series)
		p.From = max(1-float64(p.taken)*step.Seconds()/window.Seconds(), 0)
		all = append(all, p)
	}
	return all
}

// plot adds the series up.
func (m measure) plot(step time.Duration, all []Series) plot {
	p := plot{Title: m.title, Unit: m.unit, Bad: m.bad}
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
		sum = sum[1:] // the first has nothing before it
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

// at is the value at a point, of a counter how much it has risen since the one before. A counter that falls has begun anew.
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

// Figure is the last value to read.
func (p plot) Figure() string { return figure(p.Last) + unitOf(p.Unit) }

// Highest is the highest value to read.
func (p plot) Highest() string { return figure(p.Most) + unitOf(p.Unit) }

func unitOf(unit string) string {
	if unit == "" || unit[0] == '/' {
		return unit
	}
	return " " + unit
}

// figure has as many digits as somebody reads.
func figure(v float64) string {
	switch {
	case v == math.Trunc(v), v >= 100:
		return frame.Number(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// The size of a plot in its own units: see templates/now.html.
const (
	plotWidth  = 300
	plotHeight = 60
)

// Label tells the plot in words, for those who do not see it.
func (p plot) Label() string {
	return fmt.Sprintf("%s: now %s, at most %s", p.Title, p.Figure(), p.Highest())
}

// Line are the places of the points.
func (p plot) Line() string {
	var line strings.Builder
	for i, v := range p.Points {
		x := plotWidth * (p.From + (1-p.From)*float64(i)/float64(max(len(p.Points)-1, 1)))
		y := plotHeight - (plotHeight-4)*v/max(p.Most, 1e-9)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	return line.String()
}

// Area is what lies under the line.
func (p plot) Area() string {
	return fmt.Sprintf("%.1f,%d %s%d,%d", plotWidth*p.From, plotHeight, p.Line(), plotWidth, plotHeight)
}
