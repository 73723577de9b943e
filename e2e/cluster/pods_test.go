package cluster

import (
	"strings"
	"testing"
	"time"

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
