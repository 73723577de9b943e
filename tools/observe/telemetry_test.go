package observe

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented is what docs/telemetry.md says of a metric.
type documented struct {
	labels map[string]bool
	// values are those that the page lists of a label; none where it lists none.
	values map[string][]string
}

var (
	backticked = regexp.MustCompile("`([^`]+)`")
	// ofOthers are metrics that the page names by what they begin with.
	ofOthers = regexp.MustCompile(`^(temporal|pgxpool|db_client|go|process)_`)
	// ofPrometheus has made by itself.
	ofPrometheus = map[string]bool{"up": true, "ALERTS": true}
	// ofScrapes are labels that Prometheus gives to every series, and on Kubernetes its operator.
	ofScrapes = map[string]bool{"cluster": true, "namespace": true, "job": true, "instance": true}
	suffix    = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// readTelemetry reads the table of metrics: a row is | name | attributes | meaning |. Attributes stand in groups between
// semicolons: names, and after a colon the values of the last of them.
func readTelemetry(t *testing.T) map[string]documented {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	metrics := map[string]documented{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `holdfast_") {
			continue
		}
		d := documented{labels: map[string]bool{}, values: map[string][]string{}}
		for group := range strings.SplitSeq(cells[2], ";") {
			names, values, _ := strings.Cut(group, ":")
			last := ""
			for _, name := range backticked.FindAllStringSubmatch(names, -1) {
				last = name[1]
				d.labels[last] = true
			}
			for _, value := range backticked.FindAllStringSubmatch(values, -1) {
				d.values[last] = append(d.values[last], value[1])
			}
		}
		metrics[backticked.FindStringSubmatch(cells[1])[1]] = d
	}
	require.Greater(t, len(metrics), 30)
	require.True(t, metrics["holdfast_step_executions_total"].labels["outcome"], "the page is read as it is written")
	require.Equal(t, []string{"fast", "durable"}, metrics["holdfast_step_executions_total"].values["lane"])
	return metrics
}
