package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/devstack/faulttest"
)

// around is how long a load runs before a fault and after it.
const around = 3 * time.Second

// under makes a fault under load. It records the outcome and how long the fault took, until everything was up again.
func (c *cluster) under(t *testing.T, name string, fault func()) faulttest.Outcome {
	t.Helper()
	ledger := c.path(strings.ReplaceAll(name, " ", "-") + ".ledger")
	url := "http://" + c.get(t, namespace, "service/holdfast-ingress", "{.spec.clusterIP}")
	l := faulttest.Start(t, name, ledger,
		c.first().inside(c.bin("holdfast-bench"), faulttest.LoadArgs(url, c.secrets.stripe, ledger, 20*time.Minute)...))
	faulttest.Pause(t, around)
	began := time.Now()
	fault()
	took := time.Since(began)
	faulttest.Pause(t, around)
	l.Stop(t)
	o := l.Finish(t, func() string { return c.verify(t, ledger) })
	o.Note = fmt.Sprintf("%.0f s", took.Seconds())
	c.report.outcomes = append(c.report.outcomes, o)
	return o
}

// verify compares a ledger with what is stored.
func (c *cluster) verify(t *testing.T, ledger string) string {
	t.Helper()
	command := c.first().inside(c.verifier, "verify-ledger", ledger, "--settle", "3m", "--json")
	command.Env = append(os.Environ(),
		"DATABASE_URL="+databaseURL(postgresAddress),
		"TEMPORAL_ADDRESS="+temporalAddress+":7233",
		"HOLDFAST_PAYLOAD_KEYS="+c.secrets.payloadKey)
	return faulttest.Stdout(t, command)
}

// awaitUp waits until every Deployment has all its pods.
func (c *cluster) awaitUp(t *testing.T) {
	t.Helper()
	for _, in := range []string{"database", "temporal", namespace} {
		names := faulttest.Stdout(t, c.kubectl("--namespace", in, "get", "deployments", "--output=name"))
		for _, deployment := range strings.Fields(names) {
			c.run(t, c.kubectl("--namespace", in, "rollout", "status", deployment, "--timeout=5m"))
		}
	}
}
