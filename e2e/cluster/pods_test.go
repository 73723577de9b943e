package cluster

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// pods returns the pods of a role that aren't ending, as pod/NAME.
func (c *cluster) pods(t *testing.T, role string) []string {
	t.Helper()
	lines := faulttest.Stdout(t, c.kubectl("--namespace", namespace, "get", "pods", "--selector=app.kubernetes.io/component="+role,
		"--output", `jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{"\n"}{end}`))
	var names []string
	for line := range strings.Lines(lines) {
		if fields := strings.Fields(line); len(fields) == 1 {
			names = append(names, "pod/"+fields[0])
		}
	}
	return names
}

// awaitOldPodsGone waits until no pod has the image with this tag.
func (c *cluster) awaitOldPodsGone(t *testing.T, tag string) {
	t.Helper()
	faulttest.Await(t, 3*time.Minute, "pods of "+tag+" to end", func() bool {
		images := c.get(t, namespace, "pods", `{.items[?(@.status.phase=="Running")].spec.containers[0].image}`)
		return !strings.Contains(images+" ", "holdfast:"+tag+" ")
	})
}

// scale changes the number of ingresses and workers from 2 to 5 and back.
func scale(t *testing.T, c *cluster) {
	c.under(t, "scaling to 5", func() { c.scaleTo(t, 5) })
	c.under(t, "scaling to 2", func() { c.scaleTo(t, 2) })
}

func (c *cluster) scaleTo(t *testing.T, n int) {
	t.Helper()
	replicas := "--replicas=" + strconv.Itoa(n)
	c.run(t, c.kubectl("--namespace", namespace, "scale", "deployment/holdfast-ingress", "deployment/holdfast-worker", replicas))
	c.awaitUp(t)
	for _, role := range []string{"ingress", "worker"} {
		faulttest.Await(t, 3*time.Minute, "pods to end", func() bool {
			return len(strings.Fields(faulttest.Stdout(t, c.kubectl("--namespace", namespace, "get", "pods", "--output=name",
				"--selector=app.kubernetes.io/component="+role)))) == n
		})
	}
}

// drain drains a node on which all pods of Holdfast are. The PodDisruptionBudgets must make it wait: one pod of a role at a time.
func drain(t *testing.T, c *cluster) {
	const from, to = "node-2", "node-1"
	c.run(t, c.kubectl("cordon", to))
	c.run(t, c.kubectl("--namespace", namespace, "rollout", "restart", "deployment"))
	c.awaitUp(t)
	faulttest.Await(t, 3*time.Minute, "pods to move", func() bool {
		return !strings.Contains(c.get(t, namespace, "pods", `{.items[?(@.status.phase=="Running")].spec.nodeName}`), to)
	})
	c.run(t, c.kubectl("uncordon", to))
	t.Cleanup(func() { c.run(t, c.kubectl("uncordon", from)) })
	c.under(t, "node drain", func() {
		least := c.watchReady(t)
		out, err := c.kubectl("drain", from, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=8m").CombinedOutput()
		require.NoError(t, err, string(out))
		c.report.leastReady = least()
		require.Contains(t, string(out), "disruption budget", "the budgets must delay evictions")
		require.NotContains(t, c.get(t, namespace, "pods", `{.items[?(@.status.phase=="Running")].spec.nodeName}`), from)
		c.awaitUp(t)
	})
	require.Positive(t, c.report.leastReady, "an ingress is always ready")
}

// watchReady polls the number of ready ingresses until the returned function is called, which returns the lowest.
func (c *cluster) watchReady(t *testing.T) (stop func() int) {
	least, done := 1<<10, make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(500 * time.Millisecond):
			}
			out, err := c.kubectl("--namespace", namespace, "get", "endpointslices",
				"--selector=kubernetes.io/service-name=holdfast-ingress", "--output",
				`jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}`).Output()
			if err == nil {
				least = min(least, len(strings.Fields(string(out))))
			}
		}
	})
	return func() int {
		close(done)
		polling.Wait()
		return least
	}
}

// killEach deletes each pod without a grace period, one after the other.
func killEach(t *testing.T, c *cluster) {
	type victim struct{ namespace, pod string }
	var victims []victim
	for _, role := range []string{"ingress", "worker", "operator"} {
		for _, pod := range c.pods(t, role) {
			victims = append(victims, victim{namespace, pod})
		}
	}
	for _, store := range []string{"database", "temporal"} {
		pod := c.get(t, store, "pods", `{.items[?(@.status.phase=="Running")].metadata.name}`)
		victims = append(victims, victim{store, "pod/" + pod})
	}
	for _, v := range victims {
		c.under(t, "kill "+strings.TrimPrefix(v.pod, "pod/"), func() {
			c.run(t, c.kubectl("--namespace", v.namespace, "delete", v.pod, "--force", "--grace-period=0"))
			c.awaitUp(t)
		})
	}
}
