package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// MaxFiles is how many files a package may have, without tests. In a larger one it is hard to find one's way.
const MaxFiles = 20

// Larger lists the packages with more files, and why splitting them wouldn't help.
var Larger = map[string]string{
	"operator/console": "a page is a file, next to the file of its actions, and all share the forms and links of one Console",
	"internal/cli":     "it is the frame of all commands, and each file is one part of it; the commands are below",
}

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
