package figures

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

type row [7]string

var header = row{"figure", "value", "95 %", "unit", "goal", "result", "before"}

// rows returns the figures, those with a goal first, with the values of an earlier run.
func (r *Report) rows(previous *Report) (goals, others []row) {
	for _, f := range r.Figures {
		line := row{f.Name, number(f.Value), f.spread(), f.Unit, "", f.Result(), ""}
		if f.Goal != nil {
			line[4] = f.Goal.String()
		}
		if previous != nil {
			line[6] = before(f, previous)
		}
		if f.Goal != nil {
			goals = append(goals, line)
		} else {
			others = append(others, line)
		}
	}
	return goals, others
}

// spread formats the interval; "" for a counted value.
func (f Figure) spread() string {
	switch {
	case len(f.Samples) == 0:
		return ""
	case f.Interval == nil:
		return "?"
	default:
		return number(f.Interval.Low) + " – " + number(f.Interval.High)
	}
}

// before formats the earlier value, with the change since.
func before(f Figure, previous *Report) string {
	v, ok := previous.Value(f.Name)
	switch {
	case !ok:
		return ""
	case v == 0:
		return number(v)
	default:
		return fmt.Sprintf("%s (%+.0f %%)", number(v), (f.Value/v-1)*100)
	}
}

// Print writes the table for a terminal.
func (r *Report) Print(w io.Writer, previous *Report) error {
	goals, others := r.rows(previous)
	tabs := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, part := range [][]row{goals, others} {
		if len(part) == 0 {
			continue
		}
		for _, line := range append([]row{header}, part...) {
			fmt.Fprintln(tabs, strings.TrimRight(strings.Join(line[:], "\t"), "\t"))
		}
		fmt.Fprintln(tabs)
	}
	if err := tabs.Flush(); err != nil {
		return err
	}
	for _, p := range r.Phases {
		if p.Failed != "" {
			fmt.Fprintf(w, "FAILED %s: %s\n", p.Name, p.Failed)
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(r.About, "\n"))
	return err
}

// Markdown returns the table for a page, followed by the costs by process.
func (r *Report) Markdown() string {
	var b strings.Builder
	goals, others := r.rows(nil)
	fmt.Fprintf(&b, "| Figure | Value | 95 %% | Goal | |\n|---|---:|---:|---:|---|\n")
	for _, line := range goals {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", line[0], strings.TrimSpace(line[1]+" "+line[3]), line[2], line[4], line[5])
	}
	fmt.Fprintf(&b, "\n| Figure | Value | 95 %% |\n|---|---:|---:|\n")
	for _, line := range others {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", line[0], strings.TrimSpace(line[1]+" "+line[3]), line[2])
	}
	r.markdownCosts(&b)
	for _, p := range r.Phases {
		if p.Failed != "" {
			fmt.Fprintf(&b, "\n%s failed, and its figures are worth nothing: %s.\n", p.Name, p.Failed)
		}
	}
	b.WriteString("\n")
	for i, line := range slices.Concat(r.About, []string{r.Options}) {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%s%s.", strings.ToUpper(line[:1]), line[1:])
	}
	b.WriteString("\n")
	return b.String()
}

// markdownCosts writes a row for each measured item, and a column for each process. All databases of Holdfast share one column:
// phases have several.
func (r *Report) markdownCosts(b *strings.Builder) {
	var labels []string
	for _, p := range r.Phases {
		for _, c := range p.Costs {
			labels = merge(labels, c.columns())
		}
	}
	if len(labels) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| CPU, ms for each event | %s | all |\n|---|%s---:|\n", strings.Join(labels, " | "),
		strings.Repeat("---:|", len(labels)))
	for _, p := range r.Phases {
		for _, c := range p.Costs {
			fmt.Fprintf(b, "| %s: %s |", p.Name, c.Name)
			columns := c.columns()
			for _, label := range labels {
				fmt.Fprintf(b, " %s |", number(columns[label]))
			}
			fmt.Fprintf(b, " %s |\n", number(c.Total()))
		}
	}
}

// columns returns the costs by column.
func (c Cost) columns() map[string]float64 {
	columns := make(map[string]float64, len(c.Labels))
	for label, ms := range c.Labels {
		switch database, ok := strings.CutPrefix(label, "PostgreSQL: "); {
		case ok && database != "background" && !strings.HasPrefix(database, "temporal"):
			columns["PostgreSQL: Holdfast"] += ms
		default:
			columns[label] += ms
		}
	}
	return columns
}

// merge adds the labels of a cost, sorted.
func merge(labels []string, costs map[string]float64) []string {
	all := slices.AppendSeq(labels, maps.Keys(costs))
	slices.Sort(all)
	return slices.Compact(all)
}
