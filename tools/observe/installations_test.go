package observe

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// installation is what tells two of them apart that one Prometheus scrapes.
var installation = []string{"cluster", "namespace", "job"}

func inspect(t *testing.T, q query, look func(node parser.Node)) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafana.Replace(q.text))
	require.NoError(t, err, q.where)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		look(node)
		return nil
	})
}

// Rules take nothing of two installations together, and an alert says of which one it is.
func TestRulesKeepInstallationsApart(t *testing.T) {
	t.Parallel()
	queries, _ := readRules(t)
	for _, q := range queries {
		inspect(t, q, func(node parser.Node) {
			switch n := node.(type) {
			case *parser.AggregateExpr:
				require.False(t, n.Without, q.where)
				require.Subset(t, n.Grouping, installation, q.where)
			case *parser.BinaryExpr:
				if n.VectorMatching != nil && n.VectorMatching.On && !saysThatNoneIsThere(n.RHS) {
					require.Subset(t, n.VectorMatching.MatchingLabels, installation, q.where)
				}
			}
		})
	}
}

// saysThatNoneIsThere: of no installation at all there is a series.
func saysThatNoneIsThere(e parser.Expr) bool {
	call, ok := e.(*parser.Call)
	return ok && call.Func.Name == "absent"
}

// A dashboard is of the installation that was chosen.
func TestDashboardsAskForOneInstallation(t *testing.T) {
	t.Parallel()
	for _, d := range readDashboards(t) {
		require.Equal(t, "namespace", d.Templating.List[1].Name, d.file)
		require.Equal(t, "job", d.Templating.List[2].Name, d.file)
		for _, q := range d.queries() {
			if strings.Contains(q.where, "variable namespace") {
				continue
			}
			inspect(t, q, func(node parser.Node) {
				s, ok := node.(*parser.VectorSelector)
				if !ok || ofOthers.MatchString(s.Name) {
					return
				}
				require.True(t, slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "namespace" }), q.where)
				require.True(t, strings.Contains(q.where, "variable job") ||
					slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "job" }), q.where)
			})
		}
	}
}
