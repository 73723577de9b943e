package compose

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// watching is Prometheus' report about its work.
type watching struct {
	targets []string // the services that it scrapes, with "up" or "down"
	rules   int
}

// watch starts Prometheus of the profile `observe` for a while: it must find each role, and evaluate every rule without an error.
func watch(t *testing.T, p *project, r *report) {
	t.Cleanup(func() { faulttest.Must(t, p.compose("--profile", "observe", "rm", "--stop", "--force", "prometheus")) })
	faulttest.Must(t, p.compose("--profile", "observe", "up", "--detach", "--no-build", "prometheus"))
	p.awaitUp(t)
	written, err := os.ReadFile(p.root + "/deploy/prometheus/holdfast.rules.yaml")
	require.NoError(t, err)
	rules := strings.Count(string(written), "- alert: ") + strings.Count(string(written), "- record: ")
	require.Positive(t, rules)
	faulttest.Await(t, 3*time.Minute, "each role to be scraped, and each rule to be evaluated", func() bool {
		r.watching = watching{p.targets(t), p.evaluated(t)}
		return slices.Equal(r.watching.targets, []string{"ingress up", "operator up", "worker up"}) && r.watching.rules == rules
	})
}

// query asks Prometheus's API from inside of its container.
func (p *project) query(t *testing.T, path string, into any) {
	t.Helper()
	raw := faulttest.Stdout(t, p.compose("--profile", "observe", "exec", "--no-TTY", "prometheus", "wget", "-q", "-O", "-", "http://127.0.0.1:9090"+path))
	require.NoError(t, json.Unmarshal([]byte(raw), into), raw)
}

func (p *project) targets(t *testing.T) (targets []string) {
	t.Helper()
	var found struct {
		Data struct {
			ActiveTargets []struct {
				DiscoveredLabels map[string]string
				Health           string
			}
		}
	}
	p.query(t, "/api/v1/targets", &found)
	for _, target := range found.Data.ActiveTargets {
		targets = append(targets, target.DiscoveredLabels["__meta_dns_name"]+" "+target.Health)
	}
	slices.Sort(targets)
	return targets
}

// evaluated counts the rules that Prometheus has evaluated without an error.
func (p *project) evaluated(t *testing.T) (n int) {
	t.Helper()
	var found struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Health string }
			}
		}
	}
	p.query(t, "/api/v1/rules", &found)
	for _, group := range found.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health == "ok" {
				n++
			}
		}
	}
	return n
}
