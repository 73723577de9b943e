package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// oldSystem is the database of a system that Holdfast replaces. Each dialect has its own functions.
type oldSystem struct {
	// exec runs statements on it.
	exec func(t *testing.T, sql string)
	// export runs the query of a file as the guide describes, and returns its output: one record per line.
	export func(t *testing.T, file string) []byte
	// url is that of a PostgreSQL, for further commands of its guide.
	url string
}

var oldDatabases atomic.Int64

// newOldPostgres returns a PostgreSQL with the tables of testdata/NAME.sql.
func newOldPostgres(t *testing.T, name string) oldSystem {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("no psql is on this machine: apt-get install postgresql-client")
	}
	database := fmt.Sprintf("old_%s_%d", name, oldDatabases.Add(1))
	execute(t, cluster.URL("postgres"), "CREATE DATABASE "+database+" TEMPLATE template0")
	t.Cleanup(func() { execute(t, cluster.URL("postgres"), "DROP DATABASE "+database+" WITH (FORCE)") })
	url := cluster.URL(database)
	execute(t, url, testdata(t, name+".sql"))
	return oldSystem{
		url:  url,
		exec: func(t *testing.T, sql string) { t.Helper(); execute(t, url, sql) },
		export: func(t *testing.T, file string) []byte {
			t.Helper()
			return output(t, exec.Command("psql", "-AtX", "-v", "ON_ERROR_STOP=1", url, "-f", file))
		},
	}
}

// execute runs statements on a PostgreSQL.
func execute(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	defer c.Close(context.Background())
	_, err = c.Exec(context.Background(), sql)
	require.NoError(t, err)
}

// output returns the output of a command.
func output(t *testing.T, c *exec.Cmd) []byte {
	t.Helper()
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, string(failed.Stderr))
	}
	require.NoError(t, err)
	return out
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}
