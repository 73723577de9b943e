// Package program builds holdfast from the sources of a checkout for tests and benchmarks, unchanged or with edits. The edits
// don't touch the sources, so the product needs no switches for them. It doesn't depend on how the program is used.
package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An Edit replaces a text that must occur once, or adds a file if Old is empty. File is its path below the root, with slashes.
type Edit struct{ File, Old, New string }

// Build compiles cmd/holdfast below root to path, as make does, so that its packages come from Go's cache.
func Build(ctx context.Context, root, path string, edits ...Edit) error {
	return goBuild(ctx, root, path+"-sources", edits, "-ldflags", "-s -w", "-o", path, "./cmd/holdfast")
}

// BuildBench compiles the bench module's holdfast-bench to path.
func BuildBench(ctx context.Context, root, path string) error {
	return BuildModule(ctx, filepath.Join(root, "bench"), path, "./cmd/holdfast-bench")
}

// BuildModule compiles a package of another module to path.
func BuildModule(ctx context.Context, module, path, pkg string) error {
	return goBuild(ctx, module, "", nil, "-ldflags", "-s -w", "-o", path, pkg)
}

// Compile compiles the packages that the edits change and discards the result. It writes overlays to dir.
func Compile(ctx context.Context, root, dir string, edits ...Edit) error {
	arguments := []string{"-o", os.DevNull}
	for _, e := range edits {
		arguments = append(arguments, "./"+filepath.Dir(e.File))
	}
	return goBuild(ctx, root, dir, edits, arguments...)
}

func goBuild(ctx context.Context, root, dir string, edits []Edit, arguments ...string) error {
	flags := []string{"build", "-trimpath"}
	if len(edits) > 0 {
		overlay, err := writeOverlay(root, dir, edits)
		if err != nil {
			return err
		}
		flags = append(flags, "-overlay", overlay)
	}
	command := exec.CommandContext(ctx, "go", append(flags, arguments...)...)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(command.Args[1:], " "), err, out)
	}
	return nil
}

// writeOverlay writes edited files to a directory, and an overlay file with which go build uses them instead of those below
// root.
func writeOverlay(root, dir string, edits []Edit) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, e := range edits {
		original := filepath.Join(root, filepath.FromSlash(e.File))
		edited := filepath.Join(dir, strings.ReplaceAll(e.File, "/", "-"))
		if err := writeEdited(cmp.Or(replace[original], original), edited, e); err != nil {
			return "", err
		}
		replace[original] = edited
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, raw, 0o600)
}

func writeEdited(from, to string, e Edit) error {
	raw, err := os.ReadFile(from)
	if e.Old == "" && errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(to, []byte(e.New), 0o600)
	}
	if err != nil {
		return err
	}
	if n := strings.Count(string(raw), e.Old); n != 1 {
		return fmt.Errorf("%s holds %d times, and not once: %s", e.File, n, e.Old)
	}
	text := strings.Replace(string(raw), e.Old, e.New, 1)
	return os.WriteFile(to, []byte(text), 0o600) //nolint:gosec // below a directory of our own
}
