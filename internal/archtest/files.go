package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// MaxFiles is how many files a package may have, without tests. In a larger one it is hard to find one's way.
const MaxFiles = 20

// Files counts the Go files of each package below root, without tests.
func Files(root string) (counts map[string]int, err error) {
	counts = map[string]int{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			folder, err := filepath.Rel(root, filepath.Dir(path))
			counts[filepath.ToSlash(folder)]++
			return err
		}
		return nil
	})
	return counts, err
}
