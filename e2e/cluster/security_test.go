package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// checkAdmission checks that the namespace refuses a pod without restrictions and has refused none of the chart's.
func checkAdmission(t *testing.T, c *cluster) {
	out, err := c.kubectl("--namespace", namespace, "run", "plain", "--image="+standInImage).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `violates PodSecurity "restricted`)
	events := faulttest.Stdout(t, c.kubectl("--namespace", namespace, "get", "events", "--output=jsonpath={.items[*].message}"))
	require.NotContains(t, events, "PodSecurity")
}

// rotateSecret replaces a sender's secret while both the old and the new one are in use, as docs/configuration.md says.
func rotateSecret(t *testing.T, c *cluster) {
	const newSecret = "whsec_cluster_rotated_9876543210"
	old := c.secrets.stripe
	o := c.under(t, "secret rotation, old secret", func() {
		began := time.Now()
		c.setProviderSecrets(t, old+"\n"+newSecret)
		c.awaitAccepted(t, newSecret, true)
		c.report.rotated = time.Since(began)
	})
	o.RequireOnlyBadSignaturesRefused(t)
	c.secrets.stripe = newSecret
	o = c.under(t, "secret rotation, new secret", func() {
		c.setProviderSecrets(t, newSecret)
		c.awaitAccepted(t, old, false)
	})
	o.RequireOnlyBadSignaturesRefused(t)
}

// awaitAccepted waits until every ingress accepts a secret, or refuses it.
func (c *cluster) awaitAccepted(t *testing.T, secret string, accepted bool) {
	t.Helper()
	for _, pod := range c.pods(t, "ingress") {
		url := "http://" + c.get(t, namespace, pod, "{.status.podIP}") + ":8080"
		faulttest.Await(t, 4*time.Minute, "the changed secret to count", func() bool { return c.accepts(t, url, secret) == accepted })
	}
}

// accepts sends a request to an ingress.
func (c *cluster) accepts(t *testing.T, url, secret string) bool {
	t.Helper()
	out, _ := c.first().inside(c.bin("holdfast-bench"), "load", "stripe", "--url", url, "--count", "1", "--secret", secret,
		"--json").Output()
	var sent struct {
		Load struct{ OK, Requests int }
	}
	require.NoError(t, json.Unmarshal(out, &sent), string(out))
	require.Equal(t, 1, sent.Load.Requests)
	return sent.Load.OK == 1
}
