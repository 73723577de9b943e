package observe

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

const rulesFile = "../../deploy/prometheus/holdfast.rules.yaml"

type ruleFile struct {
	Groups []struct {
		Rules []struct{ Alert, Record, Expr string }
	}
}

// query is a text of PromQL and where it stands.
type query struct{ where, text string }

func readRules(t *testing.T) (queries []query, recorded map[string]string) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	var file ruleFile
	require.NoError(t, yaml.Unmarshal(text, &file))
	recorded = map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			queries = append(queries, query{"rule " + rule.Alert + rule.Record, rule.Expr})
			if rule.Record != "" {
				recorded[rule.Record] = rule.Expr
			}
		}
	}
	require.NotEmpty(t, queries)
	return queries, recorded
}

// Every query of the rules and the dashboards is one, and asks for metrics, labels and values that docs/telemetry.md names.
func TestQueriesUseDocumentedMetrics(t *testing.T) {
	t.Parallel()
	queries, recorded := readRules(t)
	for _, d := range readDashboards(t) {
		queries = append(queries, d.queries()...)
	}
	c := checker{metrics: readTelemetry(t), recorded: recorded}
	for _, q := range queries {
		for _, problem := range c.check(q.text) {
			t.Errorf("%s: %s", q.where, problem)
		}
	}
}

// The test above can fail.
func TestUndocumentedSettingsAreFound(t *testing.T) {
	t.Parallel()
	_, recorded := readRules(t)
	c := checker{metrics: readTelemetry(t), recorded: recorded}
	for text, want := range map[string]string{
		`rate(holdfast_invented_total[5m])`:                                    "no metric holdfast_invented_total",
		`holdfast_inbox_depth{queue="events"}`:                                 "holdfast_inbox_depth has no label queue",
		`holdfast_inbox_depth{lane="overflown"}`:                               `holdfast_inbox_depth has no lane "overflown"`,
		`holdfast_inbox_depth{lane=~"bulk|slow"}`:                              `holdfast_inbox_depth has no lane "slow"`,
		`sum by (provider) (holdfast_inbox_depth)`:                             "nothing in it has a label provider",
		`sum by (provider) (holdfast:acks:rate5m)`:                             "nothing in it has a label provider",
		`holdfast_inbox_depth and on (provider) holdfast_inbox_oldest_seconds`: "nothing in it has a label provider",
		`sum(`:                                 "parse error",
		`sum by (le) (holdfast_inbox_depth)`:   "nothing in it has a label le",
		`holdfast_events_received_total_count`: "no metric holdfast_events_received_total_count",
		`holdfast:never_recorded`:              "no metric holdfast:never_recorded",
	} {
		problems := c.check(text)
		require.NotEmpty(t, problems, text)
		require.Contains(t, problems[0], want, text)
	}
	require.Empty(t, c.check(`sum by (le, provider) (rate(holdfast_ack_duration_seconds_bucket{provider=~"$provider"}[$__rate_interval]))`))
}

type checker struct {
	metrics  map[string]documented
	recorded map[string]string
}

// grafana are what Grafana puts in for its variables.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$__interval", "1m", "$provider", ".*", "$destination", ".*",
	"$namespace", "", "$job", "holdfast")

func (c checker) check(text string) []string {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafana.Replace(text))
	if err != nil {
		return []string{"parse error: " + err.Error()}
	}
	var problems []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			problems = append(problems, c.checkSelector(n)...)
		case *parser.AggregateExpr:
			problems = append(problems, c.checkGrouping(n.Expr, n.Grouping)...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				problems = append(problems, c.checkGrouping(n.LHS, n.VectorMatching.MatchingLabels)...)
			}
		}
		return nil
	})
	return problems
}

func (c checker) checkSelector(s *parser.VectorSelector) (problems []string) {
	if ofOthers.MatchString(s.Name) || ofPrometheus[s.Name] {
		return nil
	}
	d, ok := c.find(s.Name)
	if !ok {
		return []string{"no metric " + s.Name}
	}
	for _, m := range s.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel:
		case !d.labels[m.Name] && !ofScrapes[m.Name]:
			problems = append(problems, s.Name+" has no label "+m.Name)
		case len(d.values[m.Name]) > 0:
			for value := range strings.SplitSeq(m.Value, "|") {
				if !slices.Contains(d.values[m.Name], value) && value != ".*" {
					problems = append(problems, s.Name+" has no "+m.Name+` "`+value+`"`)
				}
			}
		}
	}
	return problems
}

// find gives a metric by the name that a query has for it: that of a histogram has one of three suffixes, and its buckets a label.
// What is recorded has the labels that its own query leaves.
func (c checker) find(name string) (documented, bool) {
	if d, ok := c.metrics[name]; ok {
		return d, true
	}
	if text, ok := c.recorded[name]; ok {
		return documented{labels: c.labelsLeft(text)}, true
	}
	base := suffix.ReplaceAllString(name, "")
	d, ok := c.metrics[base]
	if !ok || base == name || strings.HasSuffix(base, "_total") {
		return documented{}, false
	}
	if strings.HasSuffix(name, "_bucket") {
		d.labels = maps.Clone(d.labels)
		d.labels["le"] = true
	}
	return d, true
}

var outermost = regexp.MustCompile(`^\s*sum by \(([a-z_, ]+)\)`)

// labelsLeft: what is recorded is a sum by some labels, or has none.
func (c checker) labelsLeft(text string) map[string]bool {
	left := map[string]bool{}
	if by := outermost.FindStringSubmatch(text); by != nil {
		for name := range strings.SplitSeq(by[1], ",") {
			left[strings.TrimSpace(name)] = true
		}
	}
	return left
}

// checkGrouping: what is grouped or matched by is a label of something inside.
func (c checker) checkGrouping(inside parser.Expr, grouping []string) (problems []string) {
	known := maps.Clone(ofScrapes)
	parser.Inspect(inside, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			if ofOthers.MatchString(s.Name) {
				for _, name := range grouping { // whose labels are not documented here
					known[name] = true
				}
			}
			d, _ := c.find(s.Name)
			maps.Copy(known, d.labels)
		}
		return nil
	})
	for _, name := range grouping {
		if !known[name] {
			problems = append(problems, "nothing in it has a label "+name)
		}
	}
	return problems
}

func dashboardFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/grafana/*.json")
	require.NoError(t, err)
	return files
}

// A Prometheus often scrapes more than Holdfast: what other programs have, too, is asked of our processes only.
func TestMetricsOfOthersAreAskedOfOurProcesses(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, d := range readDashboards(t) {
		for _, q := range d.queries() {
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafana.Replace(q.text))
			require.NoError(t, err, q.where)
			parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
				if s, ok := node.(*parser.VectorSelector); ok && ofOthers.MatchString(s.Name) {
					require.True(t, slices.ContainsFunc(path, isOfOurs), "%s asks every program for %s", q.where, s.Name)
					seen++
				}
				return nil
			})
		}
	}
	require.Positive(t, seen)
}

// isOfOurs: … and on (job, instance) holdfast_….
func isOfOurs(node parser.Node) bool {
	both, ok := node.(*parser.BinaryExpr)
	if !ok || both.Op != parser.LAND || !both.VectorMatching.On {
		return false
	}
	ours, ok := both.RHS.(*parser.VectorSelector)
	return ok && strings.HasPrefix(ours.Name, "holdfast_") && slices.Equal(both.VectorMatching.MatchingLabels, []string{"job", "instance"})
}
