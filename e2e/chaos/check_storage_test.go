package chaos

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// checkStorage asserts that tables and indexes are sound, with PostgreSQL's own tool if it is installed.
func (w *world) checkStorage() {
	w.t.Helper()
	invalid, err := w.count("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
	require.NoError(w.t, err)
	if invalid != 0 {
		w.t.Errorf("%d indexes are not valid", invalid)
	}
	tools, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_amcheck")
	if len(tools) == 0 {
		w.t.Log("pg_amcheck is not installed: tables and indexes were not checked")
		return
	}
	config, err := pgconn.ParseConfig(w.sql.url(w.name))
	require.NoError(w.t, err)
	check := exec.CommandContext(w.t.Context(), slices.Max(tools), "--install-missing", "--heapallindexed",
		"-h", config.Host, "-p", fmt.Sprint(config.Port), "-U", config.User, config.Database)
	check.Env = append(cleanEnvironment(), "PGPASSWORD="+config.Password)
	if out, err := check.CombinedOutput(); err != nil {
		w.t.Errorf("pg_amcheck: %v\n%s", err, out)
	}
}
