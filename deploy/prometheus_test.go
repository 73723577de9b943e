package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const rulesFile = "prometheus/holdfast.rules.yaml"

type alertRule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (all []alertRule) {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []alertRule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				all = append(all, rule)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// promtool runs Prometheus's own tool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("NO_SKIP") == "" {
		t.Skip("there is no promtool on this machine: apt-get install prometheus")
	}
	require.NoError(t, err, "apt-get install prometheus")
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoErrorf(t, err, "promtool %v:\n%s", args, out)
}

func TestTheRulesAreOnesOfPrometheus(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", rulesFile)
	promtool(t, "check", "config", "prometheus/prometheus.yaml")
}

// The unit tests of the alerts, which only look back for hours, and those that look back for days.
func TestAlertsComeWhenTheyShould(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped: with -short, no days of metrics are evaluated")
	}
	files, err := filepath.Glob("prometheus/tests/*.test.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	promtool(t, append([]string{"test", "rules"}, files...)...)
}

// Of each alert a test shows that it comes, and that it does not.
func TestEachAlertIsTestedBothWays(t *testing.T) {
	t.Parallel()
	comes, staysAway := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("prometheus/tests/*.test.yaml")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		var file struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string
					ExpAlerts []any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &file))
		for _, test := range file.Tests {
			for _, check := range test.AlertRuleTest {
				if len(check.ExpAlerts) > 0 {
					comes[check.Alertname] = true
				} else {
					staysAway[check.Alertname] = true
				}
			}
		}
	}
	for _, rule := range alerts(t) {
		require.True(t, comes[rule.Alert], "%s comes in a test", rule.Alert)
		require.True(t, staysAway[rule.Alert], "%s does not come in another", rule.Alert)
	}
}

// Each alert says what to do first and links to a section, which exists and names the alert.
func TestEachAlertSaysWhatToDo(t *testing.T) {
	t.Parallel()
	playbook, err := os.ReadFile("../docs/playbook.md")
	require.NoError(t, err)
	monitoring, err := os.ReadFile("../docs/monitoring.md")
	require.NoError(t, err)
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(playbook), "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		sections[anchorOf(title)] = body
	}
	for _, rule := range alerts(t) {
		require.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["command"], rule.Alert)
		page, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
		require.Equal(t, "docs/playbook.md", page, rule.Alert)
		require.Contains(t, sections, anchor, rule.Alert)
		require.Contains(t, string(playbook), "`"+rule.Alert+"`", "the playbook's table names it")
		require.Contains(t, string(monitoring), "`"+rule.Alert+"`", "docs/monitoring.md lists it")
	}
}

// anchorOf returns the anchor of a heading.
func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return -1
	}, strings.ToLower(title))
}
