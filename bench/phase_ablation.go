package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/bench/lab"
)

// leftOut is something that a product does without: by its configuration, or by edits of its source, which is built once more for
// that. So the product needs no switch for what nobody is to switch off.
type leftOut struct {
	name    string
	edits   []edit
	environ []string
}

// edit replaces a text that stands in a file once.
type edit struct{ file, old, with string }

const (
	startFile     = "runs/start.go"
	keepOneMetric = `metric.WithView(func(i metric.Instrument) (metric.Stream, bool) {
			if i.Name == "holdfast_event_duration" { // the benchmark counts by it
				return latencies()(i)
			}
			return metric.Stream{Name: i.Name, Aggregation: metric.AggregationDrop{}}, true
		}),`
)

// ablations are what is left out, one at a time.
var ablations = []leftOut{
	{name: "search attributes", edits: []edit{
		{startFile, "searchProvider.ValueSet(r.Provider),", ""}, {startFile, "searchEventType.ValueSet(r.Type),", ""},
	}},
	{name: "memo", edits: []edit{{startFile, "memoOf(r),", "nil,"}}},
	{name: "summaries", edits: []edit{
		{startFile, "summary(r),", `"",`}, {"workflows/options.go", "string(name),", `"",`},
	}},
	{name: "trace header", edits: []edit{{
		"internal/telemetry/telemetry.go", "propagation.TraceContext{}", "propagation.NewCompositeTextMapPropagator()",
	}}},
	{name: "correlation id", edits: []edit{{"ingress/receive.go", "CorrelationID: o.correlationID,", ""}}},
	{name: "traces", environ: []string{"OTEL_TRACES_EXPORTER=none"}},
	{name: "metrics", edits: []edit{{"internal/telemetry/meters.go", "metric.WithView(latencies()),", keepOneMetric}}},
	{name: "logs", environ: []string{"HOLDFAST_LOG_LEVEL=error"}},
	{name: "spool at full load", environ: []string{
		"HOLDFAST_INGRESS_MAX_STARTS=1000", "HOLDFAST_INGRESS_ACK_BUDGET=1900ms",
	}},
	{name: "slots that keep every start eager", edits: []edit{
		{"internal/process/workers.go", "workflowTasks = 300", "workflowTasks = 100"},
	}},
	{name: "change feed", edits: []edit{
		{"persistence/writer/write.go", "changes.Queue(b, slices.Concat(t.told, tellEvents(t.events), folded))",
			"_, _, _ = changes.Queue, slices.Concat(t.told, folded), tellEvents"},
	}},
	{name: "eager starts", edits: []edit{{startFile, "options.EnableEagerStart = s.Eager", ""}}},
}

// ablation puts the product beside itself without one thing, for one thing after the other. Each has a database and a namespace
// of its own; both are built by the same command.
func ablation(ctx context.Context, s *suite) error {
	wanted, err := wantedAblations(s.without)
	if err != nil {
		return err
	}
	whole, err := s.build(ctx, "whole", nil)
	if err != nil {
		return err
	}
	product := lab.Product{Role: roleServe, Database: lab.ProductDatabase, Program: whole}
	return s.servingLike(ctx, product, func(node *lab.Node) (err error) {
		for i, l := range wanted {
			if failure := s.ablate(ctx, node, whole, fmt.Sprintf("ablation_%d", i), l); failure != nil {
				err = errors.Join(err, fmt.Errorf("without %s: %w", l.name, failure))
			}
			if ctx.Err() != nil {
				break
			}
		}
		return err
	})
}

// wantedAblations are those of the given names, or all where none is given.
func wantedAblations(names []string) (wanted []leftOut, err error) {
	for _, l := range ablations {
		if len(names) == 0 || slices.Contains(names, l.name) {
			wanted = append(wanted, l)
		}
	}
	if len(names) > 0 && len(wanted) < len(names) {
		return nil, fmt.Errorf("--without %s: there are %s", strings.Join(names, ","), strings.Join(namesOfAblations(), ", "))
	}
	return wanted, nil
}

func namesOfAblations() (names []string) {
	for _, l := range ablations {
		names = append(names, l.name)
	}
	return names
}

func (s *suite) ablate(ctx context.Context, node *lab.Node, whole, database string, l leftOut) (err error) {
	product := lab.Product{Role: roleServe, Database: database, Program: whole, Environ: l.environ}
	if len(l.edits) > 0 {
		if product.Program, err = s.build(ctx, database, l.edits); err != nil {
			return err
		}
	}
	if err := s.lab.Migrate(ctx, database); err != nil {
		return err
	}
	return s.servingLike(ctx, product, func(other *lab.Node) error {
		without, all := "without "+l.name, "all, beside it without "+l.name
		t, err := s.alternate(ctx, s.full(all, load(node, stripe)), s.onDatabase(without, database, other))
		if err != nil {
			return err
		}
		s.samples("CPU of an event "+without+" / with all", "", nil, t.ratios(without, all, cpuOf))
		s.samples("end to end "+without+" / with all", "", nil, t.ratios(without, all, rateOf))
		_, sizes, err := s.historiesOf(ctx, database, other)
		s.samples("history of an ordinary event "+without, "B", nil, sizes)
		return err
	})
}

// onDatabase is a side of events at full load that go to a product with a database of its own.
func (s *suite) onDatabase(name, database string, node *lab.Node) side {
	d := load(node, stripe)
	d.database = database
	return s.full(name, d)
}

// build builds the product with edits of its source, and leaves the source as it is.
func (s *suite) build(ctx context.Context, name string, edits []edit) (program string, err error) {
	s.say("  building %s", name)
	overlay, err := writeOverlay(s.root, filepath.Join(s.dir, name), edits)
	if err != nil {
		return "", err
	}
	program = filepath.Join(s.dir, name, "holdfast")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-overlay", overlay, "-o", program,
		"./cmd/holdfast")
	command.Dir, command.Env = s.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build it: %w\n%s", err, out)
	}
	return program, nil
}

// writeOverlay writes edited files to a directory, and one that tells go build to take them in place of those below root.
func writeOverlay(root, dir string, edits []edit) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, e := range edits {
		source := filepath.Join(root, e.file)
		edited, again := replace[source]
		if !again {
			edited = filepath.Join(dir, strings.ReplaceAll(e.file, "/", "_"))
			replace[source] = edited
		} else {
			source = edited
		}
		raw, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(raw), e.old); n != 1 {
			return "", fmt.Errorf("%s has %q %d times", e.file, e.old, n)
		}
		text := strings.Replace(string(raw), e.old, e.with, 1)
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil { //nolint:gosec // below our own directory
			return "", err
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}
