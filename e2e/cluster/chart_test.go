package cluster

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// namespace of Holdfast. It admits only pods that meet the restricted Pod Security Standard.
const namespace = "webhooks"

const helmTimeout = "--timeout=10m"

// secrets that operators create, as docs/kubernetes.md says.
type secrets struct {
	stripe, payloadKey, operator string
}

// createSecrets creates the namespace and its secrets.
func createSecrets(t *testing.T, c *cluster) {
	c.run(t, c.kubectl("create", "namespace", namespace))
	c.run(t, c.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"))
	var made struct{ Entry string }
	for target, args := range map[*string][]string{
		&c.secrets.operator:   {"token", "new", "ada", "admin", "--json"},
		&c.secrets.payloadKey: {"payload-key", "new", "2026-11", "--json"},
	} {
		require.NoError(t, json.Unmarshal([]byte(faulttest.Stdout(t, exec.Command(c.bin("holdfast"), args...))), &made))
		*target = made.Entry
	}
	c.secrets.stripe = "whsec_cluster_test_0123456789"
	c.setSecret(t, "holdfast-database", "url="+databaseURL("postgres.database.svc"))
	c.setSecret(t, "holdfast-operator", "tokens="+c.secrets.operator)
	c.setSecret(t, "holdfast-payload-keys", "keys="+c.secrets.payloadKey)
	c.setProviderSecrets(t, c.secrets.stripe)
}

func (c *cluster) setProviderSecrets(t *testing.T, stripe string) {
	t.Helper()
	c.setSecret(t, "holdfast-providers", "STRIPE_WEBHOOK_SECRET="+stripe,
		"ACME_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
}

// setSecret creates or replaces a secret.
func (c *cluster) setSecret(t *testing.T, name string, entries ...string) {
	t.Helper()
	args := []string{"--namespace", namespace, "create", "secret", "generic", name, "--dry-run=client", "--output=yaml"}
	for _, entry := range entries {
		args = append(args, "--from-literal="+entry)
	}
	apply := c.kubectl("apply", "--filename", "-")
	apply.Stdin = strings.NewReader(faulttest.Stdout(t, c.kubectl(args...)))
	c.run(t, apply)
}

// upgrade returns a command that installs or upgrades the release with the values for production.
func (c *cluster) upgrade(chart, tag string, more ...string) *exec.Cmd {
	return c.helm(append([]string{"upgrade", "--install", "holdfast", chart, "--namespace", namespace,
		"--values=testdata/production.yaml", "--set=image.tag=" + tag}, more...)...)
}

func (c *cluster) chart() string { return c.root + "/deploy/helm" }

// wait makes helm return when all pods are ready and the migration is complete.
var wait = []string{"--wait", "--wait-for-jobs", helmTimeout}

// installDefaults installs the chart as it is, and removes it again.
func installDefaults(t *testing.T, c *cluster) {
	began := time.Now()
	c.run(t, c.helm(append([]string{"install", "holdfast", c.chart(), "--namespace", namespace}, wait...)...))
	c.report.defaults = time.Since(began)
	// It recommends what the default values leave out, and its exit code says so.
	out, _ := c.inOperator("doctor").Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	c.report.doctor = lines[len(lines)-1]
	c.run(t, c.helm("uninstall", "holdfast", "--namespace", namespace, "--wait", helmTimeout))
	faulttest.Await(t, 3*time.Minute, "all pods to be gone", func() bool {
		return c.get(t, namespace, "pods", "{.items[*].metadata.name}") == ""
	})
	c.resetDatabase(t)
}

// inOperator returns a command that runs holdfast in the operator's pod.
func (c *cluster) inOperator(args ...string) *exec.Cmd {
	return c.kubectl(append([]string{"--namespace", namespace, "exec", "deployment/holdfast-operator", "--container=operator", "--",
		"/holdfast"}, args...)...)
}

// installPrevious installs the previous release with its own chart and the values for production.
func installPrevious(t *testing.T, c *cluster) {
	c.previousChart = faulttest.PreviousSources(t, c.root) + "/deploy/helm"
	c.verifier = c.images + "/../holdfast-bench-" + c.report.previous
	began := time.Now()
	c.run(t, c.upgrade(c.previousChart, previousTag, wait...))
	c.report.production = time.Since(began)
	c.under(t, "previous release", func() {})
}

// requireTag checks the image of every running pod.
func (c *cluster) requireTag(t *testing.T, tag string) {
	t.Helper()
	images := faulttest.Stdout(t, c.kubectl("--namespace", namespace, "get", "pods", "--selector=app.kubernetes.io/name=holdfast",
		"--field-selector=status.phase=Running", "--output", `jsonpath={range .items[*]}{.spec.containers[0].image}{"\n"}{end}`))
	for image := range strings.SplitSeq(images, "\n") {
		require.Equal(t, "holdfast:"+tag, image)
	}
}
