package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// newOldMariaDB returns a MariaDB with the tables of testdata/NAME.mysql.sql. Its time zone is not UTC.
func newOldMariaDB(t *testing.T, name string) oldSystem {
	t.Helper()
	socket := startMariaDB(t)
	run := func(t *testing.T, sql []byte, args ...string) []byte {
		t.Helper()
		c := exec.Command(mariaDBProgram(t, "mariadb", "mysql"), append([]string{"--no-defaults", "--user=root", "--socket=" + socket}, args...)...)
		c.Stdin = bytes.NewReader(sql)
		return output(t, c)
	}
	run(t, []byte("CREATE DATABASE old CHARACTER SET utf8mb4"))
	execute := func(t *testing.T, sql string) {
		t.Helper()
		run(t, []byte("SET sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES';\n"+sql), "--default-character-set=utf8mb4", "old")
	}
	execute(t, testdata(t, name+".mysql.sql"))
	return oldSystem{exec: execute, export: func(t *testing.T, file string) []byte {
		t.Helper()
		query, err := os.ReadFile(file)
		require.NoError(t, err)
		return run(t, query, "--raw", "--skip-column-names", "--quick", "old")
	}}
}

// startMariaDB starts a server that ends with the test, and returns its socket. It has no other listener.
func startMariaDB(t *testing.T) (socket string) {
	t.Helper()
	install, server := mariaDBProgram(t, "mariadb-install-db"), mariaDBProgram(t, "mariadbd")
	dir, err := stacktest.TempDir("mariadb")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	common := []string{"--no-defaults", "--datadir=" + data}
	if os.Getuid() == 0 {
		common = append(common, "--user=root")
	}
	output(t, exec.Command(install, append(common, "--auth-root-authentication-method=normal", "--skip-test-db")...))

	socket = filepath.Join(dir, "socket")
	command := exec.Command(server, append(common, "--socket="+socket, "--skip-networking", "--pid-file="+filepath.Join(dir, "pid"),
		"--default-time-zone=+05:30", "--innodb-flush-log-at-trx-commit=0")...)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	require.NoError(t, command.Start())
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-exited
	})
	eventually(t, "MariaDB is ready", func() error {
		select {
		case <-exited:
			require.FailNow(t, "MariaDB has ended", log.String())
		default:
		}
		return exec.Command(mariaDBProgram(t, "mariadb", "mysql"), "--no-defaults", "--user=root", "--socket="+socket, "-e", "SELECT 1").Run()
	})
	return socket
}

// mariaDBProgram finds a program of MariaDB by one of its names. Servers may be in directories that only root has in its path.
func mariaDBProgram(t *testing.T, names ...string) string {
	t.Helper()
	var err error
	for _, name := range names {
		for _, file := range []string{name, "/usr/sbin/" + name} {
			path, missing := exec.LookPath(file)
			if missing == nil {
				return path
			}
			err = cmp.Or(err, missing)
		}
	}
	if os.Getenv("NO_SKIP") == "" {
		t.Skip("there is no MariaDB on this machine: apt-get install default-mysql-server")
	}
	require.NoError(t, err, "apt-get install default-mysql-server")
	return ""
}

// insert returns an INSERT for rows; text is quoted as in standard SQL.
func insert(table, columns string, rows ...[]any) string {
	var all []string
	for _, row := range rows {
		var values []string
		for _, value := range row {
			switch v := value.(type) {
			case nil:
				values = append(values, "NULL")
			case string:
				values = append(values, quote(v))
			default:
				values = append(values, fmt.Sprint(v))
			}
		}
		all = append(all, "("+strings.Join(values, ", ")+")")
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES\n%s;\n", table, columns, strings.Join(all, ",\n"))
}
