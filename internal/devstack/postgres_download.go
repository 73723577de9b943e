package devstack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"holdfast/internal/devstack/child"
)

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
