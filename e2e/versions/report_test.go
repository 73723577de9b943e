package versions

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// report collects the results for docs/internals/versions-report.md.
type report struct {
	started time.Time
	commit  string
	pairs   []pair
	results []result
}

func (r *report) add(p pair, of result) {
	r.pairs, r.results = append(r.pairs, p), append(r.results, of)
}

// markdown returns the page.
func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Report: versions of PostgreSQL and Temporal\n")
	p("Written by `make versions-test`, don't edit. The test started on %s and took %.0f minutes, on %d cores with %s, from %s.\n",
		r.started.UTC().Format("2 January 2006, 15:04 UTC"), time.Since(r.started).Minutes(), runtime.NumCPU(), runtime.Version(), r.commit)
	p("Each column is a PostgreSQL with the databases of Holdfast and of a Temporal server. `holdfast doctor` printed both versions. It passes " +
		"except for `fsync` and `full_page_writes`, which the tests turn off.\n")
	header, rule := "| Test |", "|---|"
	for _, one := range r.pairs {
		header += fmt.Sprintf(" %s, %s |", one.server(), one.temporal)
		rule += "---|"
	}
	p("%s\n%s", header, rule)
	for _, c := range chosen {
		row := "| " + c.shows + " (`" + c.name + "`) |"
		for _, of := range r.results {
			row += " " + cmp.Or(of.actions[c.name], "didn't run") + " |"
		}
		p("%s", row)
	}
	row := "| Minutes |"
	for _, of := range r.results {
		row += fmt.Sprintf(" %.1f |", of.took.Minutes())
	}
	p("%s\n", row)
	if missing := len(pairs) - len(r.pairs); missing > 0 {
		p("Not run: %d of %d combinations.\n", missing, len(pairs))
	}
	p("PostgreSQL's programs are those of npm's `%s`. Temporal's server and tool are built from the Go module `go.temporal.io/server`.", postgresPackage)
	return b.String()
}
