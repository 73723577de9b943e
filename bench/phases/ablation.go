package phases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/internal/devstack/program"
)

// leftOut is a feature that a product runs without: by configuration, or by edits of its source, which is built again for that.
// So the product needs no switch for what no operator should switch off.
type leftOut struct {
	name    string
	edits   []program.Edit
	environ []string
}

const (
	startFile     = "workflows/runs/start.go"
	writeFile     = "persistence/writer/store.go"
	keepOneMetric = `metric.WithView(func(i metric.Instrument) (metric.Stream, bool) {
			if i.Name == "holdfast_event_duration" { // the benchmark counts by it
				return latencies()(i)
			}
			return metric.Stream{Name: i.Name, Aggregation: metric.AggregationDrop{}}, true
		}),`
)

// without replaces a text of a file.
func without(file, text, instead string) program.Edit {
	return program.Edit{File: file, Old: text, New: instead}
}

// ablations are measured one at a time.
var ablations = []leftOut{
	{name: "search attributes", edits: []program.Edit{
		without(startFile, "workflows.SearchProvider.ValueSet(r.Provider),", ""),
		without(startFile, "workflows.SearchEventType.ValueSet(r.Type),", ""),
	}},
	{name: "memo", edits: []program.Edit{without(startFile, "memoOf(r),", "nil,")}},
	{name: "summaries", edits: []program.Edit{
		without(startFile, "summary(r),", `"",`), without("workflows/options.go", "clip(summary),", `"",`),
	}},
	{name: "trace header", edits: []program.Edit{
		without("internal/telemetry/telemetry.go", "propagation.TraceContext{}", "propagation.NewCompositeTextMapPropagator()"),
	}},
	{name: "correlation id", edits: []program.Edit{without("ingress/receive.go", "e.CorrelationID = o.correlationID", "")}},
	{name: "traces", environ: []string{"OTEL_TRACES_EXPORTER=none"}},
	{name: "metrics", edits: []program.Edit{
		without("internal/telemetry/meters.go", "metric.WithView(latencies()),", keepOneMetric),
	}},
	{name: "logs", environ: []string{"HOLDFAST_LOG_LEVEL=error"}},
	{name: "spool at full load", environ: []string{
		"HOLDFAST_INGRESS_MAX_STARTS=1000", "HOLDFAST_INGRESS_ACK_BUDGET=1900ms",
	}},
	{name: "2xx from one store", environ: []string{ // but both, which excludes the bulk lane of our own definitions
		"HOLDFAST_INGRESS_ACK=stored", "HOLDFAST_PROVIDERS_DIR=",
	}},
	{name: "slots that keep every start eager", edits: []program.Edit{
		without("internal/process/workers.go", "workflowTasks = 300", "workflowTasks = 100"),
	}},
	{name: "change feed", edits: []program.Edit{
		without("persistence/writer/transaction.go", "changes.Queue(b, slices.Concat(t.removed, eventChanges(t.events), folded))",
			"_, _, _ = changes.Queue, slices.Concat(t.removed, folded), eventChanges"),
	}},
	{name: "one transaction for persist and upsert", edits: []program.Edit{
		without("activities/persist_event.go", "event.WholeOrRow", "event.RowOnly"),
		without(writeFile, "if scope == event.WholeEvent {", "if scope >= event.WholeEvent {"),
	}},
	{name: "the upsert as a step", edits: []program.Edit{
		without("workflows/process_event.go", "len(persisted.Entities) == 0", "len(persisted.Entities) >= 0"),
	}},
	{name: "eager starts", edits: []program.Edit{without(startFile, "options.EnableEagerStart = s.Eager", "")}},
}

// ablation compares the product with itself without one feature, for one feature after the other. Each side has its own
// database and namespace; both are built by the same command.
func ablation(ctx context.Context, s *bench) error {
	wanted, err := wantedAblations(s.Without)
	if err != nil {
		return err
	}
	whole, err := s.build(ctx, "whole", nil)
	if err != nil {
		return err
	}
	product := lab.Product{Role: suite.RoleServe, Database: lab.ProductDatabase, Program: whole}
	return s.ServingLike(ctx, product, func(node *lab.Node) (err error) {
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

// wantedAblations returns those with the given names, or all without names.
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

func (s *bench) ablate(ctx context.Context, node *lab.Node, whole, database string, l leftOut) (err error) {
	product := lab.Product{Role: suite.RoleServe, Database: database, Program: whole, Environ: l.environ}
	if len(l.edits) > 0 {
		if product.Program, err = s.build(ctx, database, l.edits); err != nil {
			return err
		}
	}
	if err := s.Lab.Migrate(ctx, database); err != nil {
		return err
	}
	return s.ServingLike(ctx, product, func(other *lab.Node) error {
		without, all := "without "+l.name, "all, beside it without "+l.name
		t, err := s.Alternate(ctx, s.Full(all, suite.Load(node, suite.Stripe)), s.onDatabase(without, database, other))
		if err != nil {
			return err
		}
		s.Samples("CPU of an event "+without+" / with all", "", nil, t.Ratios(without, all, suite.CPUOf))
		s.Samples("end to end "+without+" / with all", "", nil, t.Ratios(without, all, suite.RateOf))
		s.Samples("ACK p50 "+without+" / with all", "", nil, t.Ratios(without, all, suite.P50Of))
		_, sizes, err := s.HistoriesOf(ctx, database, other)
		s.Samples("history of an ordinary event "+without, "B", nil, sizes)
		return err
	})
}

// onDatabase returns a side of events at full load for a product with its own database.
func (s *bench) onDatabase(name, database string, node *lab.Node) side {
	d := suite.Load(node, suite.Stripe)
	d.Database = database
	return s.Full(name, d)
}

// build builds the product with edits of its source, without changing the source.
func (s *bench) build(ctx context.Context, name string, edits []program.Edit) (path string, err error) {
	s.Say("  building %s", name)
	path = filepath.Join(s.Dir, name)
	return path, program.Build(ctx, s.Root, path, edits...)
}
