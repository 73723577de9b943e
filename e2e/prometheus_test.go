package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watcher is a real Prometheus that scrapes a node every second and evaluates the deployed rules.
type watcher struct{ url string }

// startPrometheus makes the recording rules evaluate as often as it scrapes, because no test lasts for a minute.
func startPrometheus(t *testing.T, n *node) *watcher {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil && os.Getenv("NO_SKIP") == "" {
		t.Skip("there is no Prometheus on this machine: apt-get install prometheus")
	}
	require.NoError(t, err, "apt-get install prometheus")
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "holdfast.rules.yaml"))
	require.NoError(t, err)
	faster := strings.ReplaceAll(string(rules), "interval: 1m", "interval: 1s")
	require.NotEqual(t, string(rules), faster)
	dir, address := t.TempDir(), freePorts(t, 1)[0]
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(faster), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: holdfast
    static_configs: [{targets: ['%s']}]
`, strings.TrimPrefix(n.operator, "http://")), 0o600))
	command := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--log.level=warn",
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	log := &syncBuffer{}
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.tail(10))
		}
	})
	return &watcher{"http://" + address}
}

// get reads the data of an answer of the API.
func (w *watcher) get(path string, into any) error {
	response, err := client.Get(w.url + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

type watchedRule struct {
	Name, Health, LastError, State string
	LastEvaluation                 time.Time
	Alerts                         []struct{ State string }
}

func (w *watcher) rules() (all []watchedRule, err error) {
	var found struct {
		Groups []struct{ Rules []watchedRule }
	}
	err = w.get("/api/v1/rules", &found)
	for _, group := range found.Groups {
		all = append(all, group.Rules...)
	}
	return all, err
}

func (w *watcher) firing() (names []string, err error) {
	all, err := w.rules()
	for _, rule := range all {
		if rule.State == "firing" {
			names = append(names, rule.Name)
		}
	}
	return names, err
}

// asked matches the metrics used by rules and dashboards.
var asked = regexp.MustCompile(`\b(holdfast|temporal|pgxpool|db_client|go|process)_[a-z0-9_]+\b`)

// comesLater are the metrics that this test doesn't produce, and what produces them.
var comesLater = map[string]string{
	"holdfast_breaker_transitions_total":     "a breaker that opens or closes",
	"holdfast_batch_events_total":            "an event of the bulk lane",
	"holdfast_batch_duration_seconds_bucket": "an event of the bulk lane",
	"holdfast_certificate_remaining_seconds": "a client certificate for Temporal",
	"holdfast_changes_without_effect_total":  "a change that comes after a purge",
	"holdfast_deliveries_oldest_seconds":     "a delivery that waits",
	"holdfast_deliveries_open":               "a delivery that waits",
	"holdfast_destination_failing":           "a destination that fails",
	"holdfast_event_conflicts_total":         "a conflict",
	"holdfast_possible_duplicates_total":     "an event with the content of an earlier one",
	"holdfast_events_spooled_total":          "an event in the inbox",
	"holdfast_inbox_drained_total":           "an event in the inbox",
	"holdfast_mapped_fields_changed":         "a field that a definition needs and that has changed",
	"holdfast_questions_answered_total":      "a question",
	"holdfast_recovery_behind_seconds":       "a credential for a provider's list of events",
	"holdfast_recovery_missed":               "a credential for a provider's list of events",
	"holdfast_recovery_unknown_seconds":      "a credential for a provider's list of events",
	"holdfast_secret_unreadable":             "a secret in a file",
	"holdfast_source_queue_up":               "a queue that an ingress reads",
	"holdfast_source_queue_waiting":          "a queue that an ingress reads",
	"holdfast_sweep_dead_letters_total":      "a run that was ended from outside",
	"temporal_request_failure_total":         "a call to Temporal that fails",
	"holdfast_sweep_healed_events_total":     "a failover that has lost commits",
	"holdfast_sweep_stuck_runs_total":        "a run that is stuck",
}

// A real Prometheus watches a complete Holdfast that receives, refuses, fails and delivers:
//   - each rule is evaluated, and none fails
//   - each metric used by a rule or a dashboard exists, except for events that haven't happened
//   - eleven poison events make alerts fire, although they came between two scrapes
func TestPrometheusWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
	earlier := i.start(t, "serve")
	earlier.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	earlier.terminate(t) // a process counts the open dead letters as it starts, and then once a minute
	n := i.start(t, "serve")
	crm := newEndpoint(t)
	out, err := i.run(t, "subscription", "create", "crm", "--url", crm.URL, "--types", "customer.*")
	require.NoError(t, err, out)
	n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now()))
	for range 11 {
		n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
	}
	a, err := n.post("/webhooks/stripe", []byte(`{}`), "Stripe-Signature", "t=1,v1=00")
	require.NoError(t, err)
	require.Equal(t, 401, a.status)
	i.awaitCount(t, time.Minute, 12, openDeadLetters)
	i.awaitCount(t, time.Minute, 1, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")

	w := startPrometheus(t, n)
	eventually(t, time.Minute, "each rule was evaluated", func() error {
		all, err := w.rules()
		if err != nil || len(all) == 0 {
			return fmt.Errorf("no rules: %w", err)
		}
		for _, rule := range all {
			require.Emptyf(t, rule.LastError, rule.Name)
			if rule.Health != "ok" {
				return fmt.Errorf("%s is %s", rule.Name, rule.Health)
			}
		}
		return nil
	})
	eventually(t, time.Minute, "the failures are an alert", func() error {
		firing, err := w.firing()
		if err != nil || !slices.Contains(firing, "HoldfastFailures") {
			return fmt.Errorf("what fires is %v: %w", firing, err)
		}
		return nil
	})
	eventually(t, time.Minute, "each metric is there", func() error { return w.lacks(t) })
	w.answersDashboards(t)
}

// lacks returns the used but missing metrics.
func (w *watcher) lacks(t *testing.T) error {
	t.Helper()
	var there, missing []string
	if err := w.get("/api/v1/label/__name__/values", &there); err != nil {
		return err
	}
	for _, text := range watching(t) {
		for _, name := range asked.FindAllString(text, -1) {
			if comesLater[name] == "" && !slices.Contains(there, name) {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing are %v; there are %v", missing, there)
	}
	return nil
}

// watching returns the texts of the rules and the dashboards.
func watching(t *testing.T) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "grafana", "*.json"))
	require.NoError(t, err)
	for _, file := range append(files, filepath.Join(root, "deploy", "prometheus", "holdfast.rules.yaml")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// answersDashboards runs each query of the dashboards.
func (w *watcher) answersDashboards(t *testing.T) {
	t.Helper()
	grafana := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$provider", ".*", "$namespace", "", "$job", "holdfast")
	count := 0
	for _, text := range watching(t) {
		var dashboard struct {
			Panels []struct{ Targets []struct{ Expr string } }
		}
		if json.Unmarshal([]byte(text), &dashboard) != nil {
			continue // the rules
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				var result json.RawMessage
				require.NoError(t, w.get("/api/v1/query?query="+url.QueryEscape(grafana.Replace(target.Expr)), &result), target.Expr)
				count++
			}
		}
	}
	require.Greater(t, count, 40)
}
