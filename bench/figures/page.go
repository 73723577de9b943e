package figures

import (
	"bytes"
	_ "embed"
	"html/template"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pagePhase is a phase with its charts.
type pagePhase struct {
	Phase

	Charts []template.HTML
}

// HTML is the report as a page of its own.
func (r *Report) HTML(previous *Report) ([]byte, error) {
	goals, others := r.rows(previous)
	var phases []pagePhase
	for _, p := range r.Phases {
		phases = append(phases, pagePhase{p, p.charts()})
	}
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Report": r, "Header": header, "Tables": [][]row{goals, others}, "Phases": phases,
	})
	return b.Bytes(), err
}

// charts are the lines by unit, then the distributions, then the costs.
func (p Phase) charts() (all []template.HTML) {
	add := func(svg string) {
		if svg != "" {
			all = append(all, template.HTML(svg)) //nolint:gosec // made by chart.go, which escapes what it is given
		}
	}
	var units []string
	byUnit := map[string][]Line{}
	for _, l := range p.Lines {
		if byUnit[l.Unit] == nil {
			units = append(units, l.Unit)
		}
		byUnit[l.Unit] = append(byUnit[l.Unit], l)
	}
	for _, unit := range units {
		add(overTime(byUnit[unit]))
	}
	if len(p.Distributions) > 0 {
		add(byShare(p.Distributions))
	}
	if len(p.Costs) > 0 {
		add(bars(p.Costs))
	}
	return all
}
