package devstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// findPostgres returns the directory with PostgreSQL's server programs. An existing data directory determines the major version,
// because no other can read it. If no programs are found, they are downloaded.
func findPostgres(ctx context.Context, data string, out io.Writer) (string, error) {
	wanted := dataVersion(data)
	var found []string
	for _, dir := range postgresDirs() {
		version, ok := serverVersion(ctx, dir)
		if !ok {
			continue
		}
		if wanted == 0 || version == wanted {
			return dir, nil
		}
		found = append(found, fmt.Sprintf("%d in %s", version, dir))
	}
	if wanted != 0 && wanted != fetchedMajor {
		return "", fmt.Errorf("%s was written by PostgreSQL %d, which is not here (found: %s): install that version, "+
			"or move the directory away to start with an empty one", data, wanted, strings.Join(found, ", "))
	}
	dir, err := ensureFetched(ctx, out)
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL server programs found, and none could be downloaded: %s\n%w", installHint(), err)
	}
	return dir, nil
}

// installHint names the command that installs PostgreSQL's server on this machine.
func installHint() string {
	for _, one := range [][2]string{
		{"apt-get", "apt-get install postgresql"}, {"dnf", "dnf install postgresql-server"}, {"brew", "brew install postgresql"},
	} {
		if _, err := exec.LookPath(one[0]); err == nil {
			return "run `" + one[1] + "`"
		}
	}
	return "install PostgreSQL's server, or set DATABASE_URL=postgres://you@127.0.0.1:5432/holdfast, a database that you have"
}

// postgresDirs lists the directories that may have the server's programs, most preferred first.
func postgresDirs() []string {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // the PostgreSQL project's packages for Red Hat and similar
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew on Apple silicon
		"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		matches, _ := filepath.Glob(pattern)
		slices.SortFunc(matches, func(a, b string) int { return firstNumber(b) - firstNumber(a) })
		dirs = append(dirs, matches...)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if file, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	return dirs
}

// serverVersion returns the major version of the server in a directory. It checks both programs because pg_config may name a
// directory that has only client programs.
func serverVersion(ctx context.Context, dir string) (int, bool) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0, false
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, false
	}
	version := firstNumber(string(out)) // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
	return version, version > 0
}

// dataVersion returns the major version of a data directory, or 0.
func dataVersion(data string) int {
	raw, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return 0
	}
	return firstNumber(string(raw))
}

// firstNumber returns the first run of digits in a text, or 0.
func firstNumber(text string) int {
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return 0
	}
	text = text[start:]
	if end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		text = text[:end]
	}
	n, _ := strconv.Atoi(text)
	return n
}
