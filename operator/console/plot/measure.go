package plot

import "time"

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
	{title: "Deliveries open", metric: "holdfast_deliveries_open", scale: 1},
	{title: "Dead letters open", metric: "holdfast_dead_letters_open", scale: 1, bad: true},
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
