package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Report is one run of the suite.
type Report struct {
	At      time.Time     `json:"at"`
	Took    time.Duration `json:"took_ns"`
	Options string        `json:"options"`
	Machine any           `json:"machine"`
	// About describes the machine and the servers, one line each.
	About []string `json:"about"`
	// Figures are in the order in which they were measured.
	Figures []Figure `json:"figures"`
	Phases  []Phase  `json:"phases"`
}

// Figure is one number.
type Figure struct {
	// Name is the same in every run, for comparisons: the phase, then the quantity.
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Goal  *Goal   `json:"goal,omitempty"`
	// Interval is the value alone if it was counted, and nil for too few samples.
	Interval *Interval `json:"interval,omitempty"`
	// Samples are the values whose median is Value.
	Samples []float64 `json:"samples,omitempty"`
}

// Goal is a bound.
type Goal struct {
	AtLeast bool    `json:"at_least"` // otherwise at most
	Bound   float64 `json:"bound"`
}

// AtLeast returns a goal with a lower bound.
func AtLeast(bound float64) *Goal { return &Goal{AtLeast: true, Bound: bound} }

// AtMost returns a goal with an upper bound.
func AtMost(bound float64) *Goal { return &Goal{Bound: bound} }

func (g Goal) String() string {
	if g.AtLeast {
		return "≥ " + number(g.Bound)
	}
	return "≤ " + number(g.Bound)
}

// Met reports whether a value is within the goal.
func (g Goal) Met(v float64) bool {
	if g.AtLeast {
		return v >= g.Bound
	}
	return v <= g.Bound
}

// Result returns met or missed if the whole interval is on one side of the goal, else undecided; "" without a goal.
func (f Figure) Result() string {
	switch {
	case f.Goal == nil:
		return ""
	case f.Interval == nil || f.Goal.Met(f.Interval.Low) != f.Goal.Met(f.Interval.High):
		return "undecided"
	case f.Goal.Met(f.Value):
		return "met"
	default:
		return "missed"
	}
}

// Phase is one part of the run.
type Phase struct {
	Name  string        `json:"name"`
	About string        `json:"about"`
	Took  time.Duration `json:"took_ns"`
	// Failed is why the figures are invalid; "" if they are valid.
	Failed string `json:"failed,omitempty"`
	// Slices are in chronological order.
	Slices []Slice `json:"slices,omitempty"`
	// Costs is CPU time by process.
	Costs []Cost `json:"costs,omitempty"`
	// Checks describes the checked invariants.
	Checks []string `json:"checks,omitempty"`
}

// Slice has the measurements of some seconds of one side of a comparison.
type Slice struct {
	Side string `json:"side"`
	// PerSecond is the side's rate, and CPU the cost of each item, in ms.
	PerSecond float64 `json:"per_second"`
	CPU       float64 `json:"cpu_ms"`
	// Stolen is the share of the machine's time that its host used otherwise, and Kept whether it was small enough.
	Stolen float64 `json:"stolen"`
	Kept   bool    `json:"kept"`
}

// Cost is CPU time in ms for each event, by process.
type Cost struct {
	Name   string             `json:"name"`
	Labels map[string]float64 `json:"labels"`
}

// Total returns the sum over all processes.
func (c Cost) Total() (sum float64) {
	for _, v := range c.Labels {
		sum += v
	}
	return sum
}

// AddValue adds a figure that was counted, or measured once.
func (r *Report) AddValue(name, unit string, goal *Goal, v float64) {
	r.Figures = append(r.Figures, Figure{Name: name, Unit: unit, Goal: goal, Value: v, Interval: &Interval{v, v}})
}

// AddSamples adds a figure that is the median of samples.
func (r *Report) AddSamples(name, unit string, goal *Goal, samples []float64) {
	r.Figures = append(r.Figures, Figure{
		Name: name, Unit: unit, Goal: goal, Value: Median(samples), Interval: MedianInterval(samples), Samples: samples,
	})
}

// Value returns the value of a figure.
func (r *Report) Value(name string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// extension is the extension of report files.
const extension = ".json"

// Save writes the report to a file of the directory named after the time, and returns its path.
func (r *Report) Save(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, r.At.UTC().Format("20060102T150405Z")+extension)
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, raw, 0o644)
}

// Latest reads the newest report of a directory; nil if there is none.
func Latest(dir string) (*Report, error) {
	all, err := filepath.Glob(filepath.Join(dir, "2*Z"+extension))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	slices.Sort(all)
	raw, err := os.ReadFile(all[len(all)-1])
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", all[len(all)-1], err)
	}
	return r, nil
}

// number formats a number with three digits, or in full if it is large.
func number(v float64) string {
	switch abs := math.Abs(v); {
	case abs >= 1000:
		return thousands(fmt.Sprintf("%.0f", v))
	case abs >= 100:
		return fmt.Sprintf("%.0f", v)
	case abs >= 10:
		return trimmed(fmt.Sprintf("%.1f", v))
	case abs >= 0.1 || v == 0:
		return trimmed(fmt.Sprintf("%.2f", v))
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

func trimmed(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
