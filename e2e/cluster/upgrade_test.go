package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

const wrongPassword = "url=postgres://holdfast:wrong@postgres.database.svc:5432/holdfast?sslmode=disable"

// ownMigrationSecret gives the migration its own secret, which these tests make wrong.
const ownMigrationSecret = "--set=database.migrationSecret.name=holdfast-migration"

// failMigration upgrades with a migration that can't log in. The old pods must stay, and the new workers must wait.
func failMigration(t *testing.T, c *cluster) {
	c.setSecret(t, "holdfast-migration", wrongPassword)
	old := c.pods(t, "worker")
	c.under(t, "failing migration", func() {
		c.run(t, c.upgrade(c.chart(), currentTag, ownMigrationSecret))
		faulttest.Await(t, 3*time.Minute, "the Job's pod to fail", func() bool {
			return c.get(t, namespace, "job", "{.items[*].status.failed}") != ""
		})
		faulttest.Await(t, 3*time.Minute, "a new worker to wait for the migration", func() bool {
			return c.get(t, namespace, "pods",
				`{.items[*].status.initContainerStatuses[?(@.name=="wait-for-migration")].state.running}`) != ""
		})
		faulttest.Pause(t, 15*time.Second)
	})
	require.Subset(t, c.pods(t, "worker"), old, "the old workers stay")
	for _, pod := range old {
		require.Equal(t, "true", c.get(t, namespace, pod, "{.status.containerStatuses[0].ready}"), pod)
	}
}

// upgradeAfterFailure fixes the cause and follows docs/kubernetes.md: delete the Job, then upgrade again.
func upgradeAfterFailure(t *testing.T, c *cluster) {
	c.verifier = c.bin("holdfast-bench")
	c.under(t, "rolling upgrade", func() {
		c.setSecret(t, "holdfast-migration", "url="+databaseURL("postgres.database.svc"))
		c.run(t, c.kubectl("--namespace", namespace, "delete", "job", "--selector=app.kubernetes.io/component=migration"))
		c.run(t, c.upgrade(c.chart(), currentTag, append(wait, ownMigrationSecret)...))
		c.awaitOldPodsGone(t, previousTag)
	})
	c.requireTag(t, currentTag)
}

// rollBack returns to the previous release, and then upgrades again. The first revision is the previous release's.
func rollBack(t *testing.T, c *cluster) {
	c.under(t, "rollback", func() {
		c.run(t, c.helm(append([]string{"rollback", "holdfast", "1", "--namespace", namespace}, wait...)...))
		c.awaitOldPodsGone(t, currentTag)
	})
	c.requireTag(t, previousTag)
	c.under(t, "second upgrade", func() {
		c.run(t, c.upgrade(c.chart(), currentTag, wait...))
		c.awaitOldPodsGone(t, previousTag)
	})
	c.requireTag(t, currentTag)
}

// failWorkers upgrades to workers that never become ready, and rolls back.
func failWorkers(t *testing.T, c *cluster) {
	old := c.pods(t, "worker")
	c.under(t, "worker that is never ready", func() {
		c.run(t, c.upgrade(c.chart(), currentTag, "--set=worker.config.HOLDFAST_LOG_LEVEL=loud"))
		status := c.kubectl("--namespace", namespace, "rollout", "status", "deployment/holdfast-worker", "--timeout=40s")
		require.Error(t, status.Run(), "the rollout must not complete")
		require.Subset(t, c.pods(t, "worker"), old, "the old workers stay")
		c.run(t, c.helm(append([]string{"rollback", "holdfast", "--namespace", namespace}, wait...)...))
	})
	require.ElementsMatch(t, old, c.pods(t, "worker"))
}
