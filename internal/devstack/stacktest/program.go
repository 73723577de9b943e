package stacktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An Edit replaces a text that must be there once. File is its path below the root, with slashes.
type Edit struct{ File, Old, New string }

// BuildHoldfast compiles cmd/holdfast of the sources below root to path, with edits that leave the sources as they are.
func BuildHoldfast(root, path string, edits ...Edit) error {
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", path}
	if len(edits) > 0 {
		overlay, err := writeOverlay(root, path+"-sources", edits)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	command := exec.Command("go", append(args, "./cmd/holdfast")...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return nil
}

// writeOverlay writes edited files to a directory, and one that has go build take them in place of those below root.
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
	if err != nil {
		return err
	}
	if n := strings.Count(string(raw), e.Old); n != 1 {
		return fmt.Errorf("%s holds %d times, and not once: %s", e.File, n, e.Old)
	}
	text := strings.Replace(string(raw), e.Old, e.New, 1)
	return os.WriteFile(to, []byte(text), 0o600) //nolint:gosec // below a directory of our own
}
