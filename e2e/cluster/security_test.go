package cluster

import (
	"testing"

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
