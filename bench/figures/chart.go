package figures

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
)

// The size of a chart and of the space around its axes, in pixels.
const (
	chartWidth, chartHeight = 720.0, 240.0
	marginLeft, marginRight = 70.0, 190.0
	marginTop, marginBottom = 10.0, 30.0
)

var colours = []string{"#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#57606a", "#0a7ea4"}

// axis turns values into pixels.
type axis struct {
	from, to float64 // values
	log      bool
	at, size float64 // pixels; size is negative where pixels run against the values
}

func (a axis) place(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log10(max(v, a.from)), math.Log10(a.from), math.Log10(a.to)
	}
	if to == from {
		return a.at
	}
	return a.at + (v-from)/(to-from)*a.size
}

// ticks are some round values of the axis.
func (a axis) ticks() (values []float64) {
	if a.log {
		for v := math.Pow(10, math.Floor(math.Log10(a.from))); v <= a.to*1.001; v *= 10 {
			if v >= a.from*0.999 {
				values = append(values, v)
			}
		}
		return values
	}
	step := math.Pow(10, math.Floor(math.Log10(max(a.to-a.from, 1e-9))))
	for (a.to-a.from)/step < 4 {
		step /= 2
	}
	for v := math.Ceil(a.from/step) * step; v <= a.to*1.0001; v += step {
		values = append(values, v)
	}
	return values
}

// curve is one line of a chart.
type curve struct {
	name   string
	points [][2]float64
}

// chart draws lines. xLabel names the ticks of the x axis.
func chart(curves []curve, x, y axis, xLabel func(float64) string, yUnit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" width="%.0f" role="img">`, chartWidth, chartHeight, chartWidth)
	for _, v := range y.ticks() {
		at := y.place(v)
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="grid"/>`,
			marginLeft, chartWidth-marginRight, at, at)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, marginLeft-6, at+4, number(v))
	}
	for _, v := range x.ticks() {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x.place(v), chartHeight-10, xLabel(v))
	}
	fmt.Fprintf(&b, `<text x="4" y="%.1f" class="unit">%s</text>`, marginTop+6, html.EscapeString(yUnit))
	for i, c := range curves {
		colour := colours[i%len(colours)]
		var path []string
		for _, p := range c.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x.place(p[0]), y.place(p[1])))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, strings.Join(path, " "), colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`, chartWidth-marginRight+8, marginTop+14*float64(i+1), colour,
			html.EscapeString(c.name))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

func horizontal(from, to float64, log bool) axis {
	return axis{from: from, to: to, log: log, at: marginLeft, size: chartWidth - marginLeft - marginRight}
}

func vertical(from, to float64, log bool) axis {
	return axis{from: from, to: to, log: log, at: chartHeight - marginBottom, size: -(chartHeight - marginTop - marginBottom)}
}

// overTime draws the lines of one unit.
func overTime(lines []Line) string {
	var curves []curve
	var longest, highest float64
	for _, l := range lines {
		curves = append(curves, curve{l.Name, l.Points})
		for _, p := range l.Points {
			longest, highest = max(longest, p[0]), max(highest, p[1])
		}
	}
	if longest == 0 || highest == 0 {
		return ""
	}
	return chart(curves, horizontal(0, longest, false), vertical(0, highest*1.05, false),
		func(v float64) string { return number(v) + " s" }, lines[0].Unit)
}

// byShare draws latencies over 1/(1−share), so that the tail has the room that it deserves.
func byShare(all []Distribution) string {
	var curves []curve
	lowest, highest, rarest := math.Inf(1), 0.0, 10.0
	for _, d := range all {
		c := curve{name: d.Name}
		for _, p := range d.Points {
			if p[0] >= 1 || p[1] <= 0 {
				continue
			}
			c.points = append(c.points, [2]float64{1 / (1 - p[0]), p[1]})
			lowest, highest, rarest = min(lowest, p[1]), max(highest, p[1]), max(rarest, 1/(1-p[0]))
		}
		curves = append(curves, c)
	}
	if highest == 0 {
		return ""
	}
	return chart(curves, horizontal(1, rarest, true), vertical(lowest*0.9, highest*1.1, true), shareLabel, "ms")
}

func shareLabel(v float64) string {
	if v <= 1 {
		return "0 %"
	}
	return fmt.Sprintf("%.5g %%", 100*(1-1/v))
}

// bars draws costs, one bar each, with a piece for each process.
func bars(costs []Cost) string {
	var labels []string
	longest := 0.0
	for _, c := range costs {
		labels = merge(labels, c.Labels)
		longest = max(longest, c.Total())
	}
	if longest == 0 {
		return ""
	}
	const thick, name = 22.0, 150.0
	height := float64(len(costs))*thick + 14*float64(len(labels)) + 20
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" width="%.0f" role="img">`, chartWidth, height, chartWidth)
	for i, c := range costs {
		y, x := float64(i)*thick, name
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, name-8, y+14, html.EscapeString(c.Name))
		for n, label := range labels {
			width := c.Labels[label] / longest * (chartWidth - name - 80)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="16" fill="%s"/>`, x, y+2, width, colours[n%len(colours)])
			x += width
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f">%s ms</text>`, x+6, y+14, number(c.Total()))
	}
	for n, label := range labels {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">■ %s</text>`, name, float64(len(costs))*thick+14*float64(n+1)+6,
			colours[n%len(colours)], html.EscapeString(label))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// merge adds the labels of a cost, sorted.
func merge(labels []string, costs map[string]float64) []string {
	all := slices.AppendSeq(labels, maps.Keys(costs))
	slices.SortFunc(all, cmp.Compare[string])
	return slices.Compact(all)
}
