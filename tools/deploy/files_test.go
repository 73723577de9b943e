package deploy

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
)

// carried are the files outside of the chart that it carries, by their name in it: Helm reads nothing outside.
func carried(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../deploy/prometheus/holdfast.rules.yaml", "../../deploy/grafana/*.json"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			all[filepath.Base(path)] = path
		}
	}
	require.Greater(t, len(all), 1, "rules and dashboards")
	return all
}

// After a change of the rules or the dashboards: go test -C tools/deploy . -run TestTheChartCarries -update
func TestTheChartCarriesTheRulesAndDashboardsThatStandBesideIt(t *testing.T) {
	t.Parallel()
	const dir = chartDir + "/files"
	sources := carried(t)
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for name, source := range sources {
		want := compact(t, source)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), want, 0o644))
		}
		have, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err, "run: go test -C tools/deploy . -run TestTheChartCarries -update")
		require.Equal(t, string(want), string(have), name)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(sources)), names)
}

// compact returns a file as the chart carries it: a dashboard is one line, because no person reads it there.
func compact(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	if filepath.Ext(path) != ".json" {
		return raw
	}
	var line bytes.Buffer
	require.NoError(t, json.Compact(&line, raw))
	line.WriteByte('\n')
	return line.Bytes()
}

// Prometheus and Grafana use Helm's braces, too: the chart must deliver these files unchanged.
func TestRulesAndDashboardsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	o := makeObjects(t, loadChart(t), parseValues(t, "prometheusRule: {enabled: true}\ndashboards: {enabled: true}"))
	var want monitoring.PrometheusRuleSpec
	readYAML(t, carried(t)["holdfast.rules.yaml"], &want)
	require.NotEmpty(t, want.Groups)
	require.Len(t, o.rules, 1)
	require.Equal(t, want, o.rules[0].Spec)
	require.Len(t, o.configMaps, len(carried(t))-1)
	for _, m := range o.configMaps {
		require.Equal(t, "1", m.Labels["grafana_dashboard"])
		require.Len(t, m.Data, 1)
		for name, dashboard := range m.Data {
			source, err := os.ReadFile(carried(t)[name])
			require.NoError(t, err)
			require.JSONEq(t, string(source), dashboard)
		}
	}
}

// Without them the chart says so, and makes no empty object.
func TestAChartWithoutRulesSaysSo(t *testing.T) {
	t.Parallel()
	for values, says := range map[string]string{
		"prometheusRule: {enabled: true}": "packed without files/holdfast.rules.yaml",
		"dashboards: {enabled: true}":     "packed without files/*.json",
	} {
		c := loadChart(t)
		c.Files = nil
		_, err := render(c, release, parseValues(t, values))
		require.ErrorContains(t, err, says)
	}
}
