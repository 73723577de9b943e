package cluster

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/faulttest"
)

// password of all users of PostgreSQL.
const password = "cluster-test"

// startStores starts PostgreSQL and Temporal in the cluster, set up by the scripts that docker-compose.yml uses, too.
func startStores(t *testing.T, c *cluster) {
	for _, namespace := range []string{"database", "temporal"} {
		c.run(t, c.kubectl("create", "namespace", namespace))
	}
	c.run(t, c.kubectl("--namespace", "database", "create", "configmap", "init", "--from-file="+c.root+"/deploy/postgres/init.sql"))
	c.run(t, c.kubectl("--namespace", "temporal", "create", "configmap", "scripts", "--from-file="+c.root+"/deploy/temporal"))
	user, group := c.postgresUser(t)
	data := c.first().path("data")
	require.NoError(t, os.Mkdir(data, 0o700))
	require.NoError(t, os.Chown(data, user, group))
	raw, err := os.ReadFile("testdata/stores.yaml")
	require.NoError(t, err)
	apply := c.kubectl("apply", "--filename", "-")
	apply.Stdin = strings.NewReader(strings.NewReplacer("${UID}", strconv.Itoa(user), "${GID}", strconv.Itoa(group),
		"${PASSWORD}", password, "${DATA}", data).Replace(string(raw)))
	c.run(t, apply)
	c.run(t, c.kubectl("--namespace", "database", "rollout", "status", "deployment/postgres", "--timeout=5m"))
	c.run(t, c.kubectl("--namespace", "temporal", "rollout", "status", "deployment/temporal", "--timeout=5m"))
	c.run(t, c.kubectl("--namespace", "temporal", "wait", "--for=condition=complete", "job/namespace", "--timeout=5m"))
}

// postgresUser reads the user's IDs from the stand-in image.
func (c *cluster) postgresUser(t *testing.T) (user, group int) {
	t.Helper()
	users := faulttest.Stdout(t, exec.Command("tar", "-xOf", c.images+"/../debian.tar", "./etc/passwd"))
	for line := range strings.Lines(users) {
		if fields := strings.Split(line, ":"); fields[0] == "postgres" {
			_, err := fmt.Sscan(fields[2]+" "+fields[3], &user, &group)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, user)
	return user, group
}

// databaseURL returns the address of Holdfast's database at a host.
func databaseURL(host string) string {
	return "postgres://holdfast:" + password + "@" + net.JoinHostPort(host, "5432") + "/holdfast?sslmode=disable"
}

// resetDatabase replaces Holdfast's database by an empty one.
func (c *cluster) resetDatabase(t *testing.T) {
	t.Helper()
	c.run(t, c.kubectl("--namespace", "database", "exec", "deployment/postgres", "--", "psql", "--host=/run/postgresql",
		"--username=postgres", "--set=ON_ERROR_STOP=1", "--command=DROP DATABASE holdfast WITH (FORCE)",
		"--command=CREATE DATABASE holdfast OWNER holdfast"))
}
