package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"holdfast/internal/devstack/child"
)

// installHint ends every error about missing PostgreSQL programs.
const installHint = "install PostgreSQL's server (`apt-get install postgresql`, `brew install postgresql`), " +
	"or set DATABASE_URL to a database that you have"

// findPostgres returns the directory with PostgreSQL's server programs. An existing data directory determines the major version,
// because no other can read it. If no programs are found, they are downloaded.
func findPostgres(ctx context.Context, data, downloads string, log *slog.Logger) (string, error) {
	wanted := dataVersion(data)
	var found []string
	for _, dir := range append(postgresDirs(), downloadedDirs(downloads)...) {
		version, ok := serverVersion(ctx, dir)
		if !ok {
			continue
		}
		if wanted == 0 || version == wanted {
			return dir, nil
		}
		found = append(found, fmt.Sprintf("%d in %s", version, dir))
	}
	if wanted != 0 && wanted != downloadVersion {
		return "", fmt.Errorf("%s was written by PostgreSQL %d, which is not here (found: %s): install that version, "+
			"or move the directory away to start with an empty one", data, wanted, strings.Join(found, ", "))
	}
	dir, err := downloadPostgres(ctx, downloads, log)
	if err != nil {
		return "", errors.Join(fmt.Errorf("no PostgreSQL server programs found: %s", installHint), err)
	}
	return dir, nil
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

// downloadVersion is the major version that downloadPostgres fetches.
const (
	downloadVersion  = 17
	downloadRelease  = embeddedpostgres.V17
	downloadCacheDir = "cache"
)

func downloadedDirs(downloads string) []string {
	return []string{filepath.Join(downloads, string(downloadRelease), "bin")}
}

// downloadPostgres fetches the server's programs from Maven Central (zonkyio/embedded-postgres-binaries) and returns their
// directory.
//
// The library can't only fetch: it also creates a cluster and starts it, once, in a temporary directory. As root that part fails
// after the programs have been unpacked, which is enough; so the check is whether they run.
func downloadPostgres(ctx context.Context, downloads string, log *slog.Logger) (string, error) {
	log.Info("no PostgreSQL on this machine: downloading its programs once (about 30 MB)", "version", downloadRelease)
	if err := os.MkdirAll(downloads, child.PassableDir); err != nil {
		return "", err
	}
	port, err := child.FreePort()
	if err != nil {
		return "", err
	}
	scratch := filepath.Join(downloads, "scratch")
	defer os.RemoveAll(scratch)
	fetched := make(chan error, 1)
	go func() { // the library takes no context
		db := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
			Version(downloadRelease).Port(uint32(port)).Logger(io.Discard).
			CachePath(filepath.Join(downloads, downloadCacheDir)).
			BinariesPath(filepath.Join(downloads, string(downloadRelease))).
			RuntimePath(scratch).DataPath(filepath.Join(scratch, "data")))
		err := db.Start()
		if err == nil {
			err = db.Stop()
		}
		fetched <- err
	}()
	select {
	case err = <-fetched:
	case <-ctx.Done():
		return "", fmt.Errorf("download PostgreSQL: %w", ctx.Err())
	}
	dir := downloadedDirs(downloads)[0]
	if _, ok := serverVersion(ctx, dir); !ok {
		return "", fmt.Errorf("download PostgreSQL: %w", cmp.Or(err, fmt.Errorf("%s does not run", dir)))
	}
	return dir, nil
}
