package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// maxLogSize is the size in bytes at which a server's log is moved aside at the next start; one old log is kept.
const maxLogSize = 16 << 20

// The modes of directories.
const (
	PrivateDir  os.FileMode = 0o700 // for what holds payloads
	PassableDir os.FileMode = 0o711 // for what the user of PostgreSQL has to pass through
)

// MakeDir makes a directory and returns its absolute path without symbolic links, the form that /proc shows.
func MakeDir(dir string, mode os.FileMode) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, mode); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// LogTo sends the output of a program to the end of a file. The program holds the file itself, so that it can write
// when we are gone; CloseLog gives up our handle once it runs.
func LogTo(cmd *exec.Cmd, path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		_ = os.Rename(path, path+".1")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // exec then uses the null device; a log is not worth failing a start
	}
	cmd.Stdout, cmd.Stderr = file, file
}

// CloseLog gives up the handle that LogTo has opened.
func CloseLog(cmd *exec.Cmd) {
	if file, ok := cmd.Stdout.(*os.File); ok {
		_ = file.Close()
	}
}

// LogTail is the end of a log, to go with the error of a server that did not start.
func LogTail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	const tail = 2 << 10
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		_, _ = file.Seek(-tail, io.SeekEnd)
	}
	raw, _ := io.ReadAll(file)
	return fmt.Sprintf("the end of %s:\n%s", path, strings.TrimSpace(string(raw)))
}

// EnvironWithout is our environment, without the variables that begin with one of the prefixes.
func EnvironWithout(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
