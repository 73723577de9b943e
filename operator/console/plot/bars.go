package plot

import (
	"fmt"
	"strings"
	"time"

	"holdfast/operator/console/frame"
)

// Part is what one part of each bar counts, such as the events with one result.
type Part struct {
	// Name says what is counted, and Class is its class in the style sheet.
	Name, Class string
}

// Bar has the counts of one step.
type Bar struct {
	// At is the beginning of the step.
	At time.Time
	// Counts are those of the chart's parts, in their order.
	Counts []int64
	// Also is what the table says in the column of the chart's Also.
	Also string
	// Path is where the bar leads, without the prefix; "" for nowhere.
	Path string
}

// Bars is a chart of counts over time: a bar for each step, stacked from its parts.
type Bars struct {
	// Title says what the chart shows, and Empty what it says if there is nothing to show.
	Title, Empty string
	// Parts are from the bottom to the top.
	Parts []Part
	// Also heads a further column of the table, for a chart that has none itself (IsInTable); "" for none.
	Also      string
	IsInTable bool
	// Since and Until are multiples of Step.
	Since, Until time.Time
	Step         time.Duration
	// Bars are those with counts, oldest first.
	Bars []Bar
	// List is the path of the list of what a chosen time range counts, without the prefix; since and until are added to its query.
	// "" for a chart in which no time range can be chosen.
	List string
	// Ranges are other time ranges to choose from.
	Ranges []Range
	// Note says what the chart counts and its lists lack, and NoteLink names the page with these, at NotePath; "" for nothing.
	Note, NoteLink, NotePath string
}

// Range is a choice of a time range.
type Range struct {
	Name string
	// Path is that of the same page with this range, without the prefix.
	Path      string
	IsCurrent bool
}

// The size of bars in their own units: the style sheet stretches the chart.
const (
	barWidth  = 10
	barHeight = 80
	// leastHeight keeps a part visible, however small: one failure among a million events matters.
	leastHeight = 2
)

// sum returns the height of a bar.
func (b Bar) sum() (n int64) {
	for _, count := range b.Counts {
		n += count
	}
	return n
}

// Most returns the highest bar's sum.
func (b Bars) Most() (most int64) {
	for _, one := range b.Bars {
		most = max(most, one.sum())
	}
	return most
}

// Steps returns how many steps the chart has.
func (b Bars) Steps() int { return int(b.Until.Sub(b.Since) / b.Step) }

// Width returns the width of the chart.
func (b Bars) Width() int { return barWidth * b.Steps() }

// DrawnBar is a bar as it is drawn: outlines, and a tooltip in UTC.
type DrawnBar struct {
	Path, Text string
	// Column is the outline of the whole step, which makes low bars easy to hit.
	Column string
	Parts  []DrawnPart
}

// DrawnPart is a part of a bar.
type DrawnPart struct{ Class, Outline string }

// Drawn returns the bars as they are drawn.
func (b Bars) Drawn() []DrawnBar {
	most := max(b.Most(), 1)
	space := float64(barHeight - leastHeight*len(b.Parts))
	drawn := make([]DrawnBar, len(b.Bars))
	for i, one := range b.Bars {
		x := barWidth * int(one.At.Sub(b.Since)/b.Step)
		drawn[i] = DrawnBar{
			Path: one.Path, Text: b.text(one), Column: fmt.Sprintf("M%d 0h%dv%dh-%dz", x, barWidth, barHeight, barWidth),
		}
		bottom := float64(barHeight)
		for k, count := range one.Counts {
			if count == 0 {
				continue
			}
			height := leastHeight + space*float64(count)/float64(most)
			outline := fmt.Sprintf("M%d %.1fv-%.1fh%dv%.1fz", x+1, bottom, height, barWidth-2, height)
			drawn[i].Parts = append(drawn[i].Parts, DrawnPart{b.Parts[k].Class, outline})
			bottom -= height
		}
	}
	return drawn
}

// text describes a bar.
func (b Bars) text(one Bar) string {
	var counted []string
	for k, count := range one.Counts {
		if count > 0 {
			counted = append(counted, frame.Number(count)+" "+b.Parts[k].Name)
		}
	}
	return b.period(one.At.UTC()) + ": " + strings.Join(counted, ", ")
}

func (b Bars) period(at time.Time) string {
	if b.Step >= 24*time.Hour {
		return at.Format("2 Jan") + " UTC"
	}
	return at.Format("2 Jan 15:04") + "–" + at.Add(b.Step).Format("15:04") + " UTC"
}
