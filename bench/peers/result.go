package peers

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

// Result is the result of a comparison.
type Result struct {
	At      time.Time
	Took    time.Duration
	Rounds  int
	Machine lab.Machine
	// Versions are the other systems' versions, and Packages the packages of the servers that they need.
	Versions, Packages []string
	// Columns are the sides in the order of the table, with what each round has measured.
	Columns []*column
}

// column is a side with its measurements.
type column struct {
	side, ack string
	samples   []sample
	// crash is the result of killing everything; nil if that wasn't tried.
	crash *outcome
}

// of returns the column of a side, a new one if it is missing.
func (r *Result) of(s side) *column {
	for _, c := range r.Columns {
		if c.side == s.name {
			return c
		}
	}
	c := &column{side: s.name, ack: s.ack}
	r.Columns = append(r.Columns, c)
	return c
}

// rows are the figures of the table.
var rows = []struct {
	name, unit string
	value      func(sample) float64
}{
	{"closed loop to an endpoint: delivered", "/s", func(s sample) float64 { return s.DonePerSecond }},
	{"closed loop: CPU per event", " ms", func(s sample) float64 { return s.FullCPU }},
	{"47 events/s: ACK → POST, p50", " ms", func(s sample) float64 { return s.WaitP50 }},
	{"47 events/s: ACK → POST, p99", " ms", func(s sample) float64 { return s.WaitP99 }},
	{"47 events/s: CPU per event", " ms", func(s sample) float64 { return s.PacedCPU }},
	{"1 event to 100 endpoints: deliveries", "/s", func(s sample) float64 { return s.FannedPerSecond }},
	{"1 event to 100 endpoints: CPU per delivery", " ms", func(s sample) float64 { return s.FannedCPU }},
	{"idle: CPU seconds per minute", "", func(s sample) float64 { return s.IdleCPU }},
	{"idle: memory without PostgreSQL", " MiB", func(s sample) float64 { return s.IdleMemory }},
}

// Markdown returns the tables.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, Holdfast %s, rounds: %d, took %s. Medians; in parentheses, the lowest and the highest round.\n\n",
		r.At.UTC().Format(time.DateOnly), r.Machine.Commit, r.Rounds, r.Took)
	b.WriteString("| |" + r.line(func(c *column) string { return c.side }) + "\n")
	b.WriteString("|---|" + strings.Repeat("---:|", len(r.Columns)) + "\n")
	for _, row := range rows {
		b.WriteString("| " + row.name + " |" + r.line(func(c *column) string { return c.cell(row.value, row.unit) }) + "\n")
	}
	b.WriteString("| behind an ACK |" + r.line(func(c *column) string { return c.ack }) + "\n")
	r.crashTable(&b)
	b.WriteString("\nVersions:\n\n")
	m := r.Machine
	lines := append([]string{
		fmt.Sprintf("%d cores of %s, %d MB, Linux %s, load %s before the run", m.Cores, m.CPU, m.MemoryMB, m.Kernel, m.Load),
		fmt.Sprintf("PostgreSQL %s, Temporal %s, %s, Holdfast %s", m.Postgres, m.Temporal, m.Go, m.Commit),
	}, slices.Concat(r.Versions, r.Packages)...)
	for _, line := range lines {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

func (r *Result) line(cell func(*column) string) string {
	var b strings.Builder
	for _, c := range r.Columns {
		b.WriteString(" " + cell(c) + " |")
	}
	return b.String()
}

// cell returns the median of the rounds and their range.
func (c *column) cell(value func(sample) float64, unit string) string {
	var all []float64
	for _, s := range c.samples {
		all = append(all, value(s))
	}
	if len(all) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s%s (%s – %s)", short(figures.Median(all)), unit, short(slices.Min(all)), short(slices.Max(all)))
}

// crashTable writes what became of acknowledged events when everything was killed.
func (r *Result) crashTable(b *strings.Builder) {
	if !slices.ContainsFunc(r.Columns, func(c *column) bool { return c.crash != nil }) {
		return
	}
	b.WriteString("\n| `kill -9` of everything | acknowledged | delivered | lost | doubled |\n|---|---:|---:|---:|---:|\n")
	for _, c := range r.Columns {
		if o := c.crash; o != nil {
			fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", c.side, o.Acknowledged, o.Delivered, o.Lost, o.Doubled)
		}
	}
}

// short formats a number with three digits, and large ones without a fraction.
func short(v float64) string {
	if v >= 100 {
		digits := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// packages returns the versions of the Debian packages of the servers.
func packages(ctx context.Context) []string {
	query := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Package} ${Version}\n", "redis-server", "rabbitmq-server")
	out, err := query.Output()
	if err != nil {
		return []string{"Redis and RabbitMQ of unknown versions"}
	}
	return []string{strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", ")}
}
