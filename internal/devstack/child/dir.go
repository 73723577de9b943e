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

// maxLogSize is the size in bytes at which a server's log is rotated at the next start; one old log is kept.
const maxLogSize = 16 << 20

// The modes of directories.
const (
	PrivateDir  os.FileMode = 0o700 // for payloads
	PassableDir os.FileMode = 0o711 // for directories that PostgreSQL's user must pass
)

// MakeDir makes a directory and returns its absolute path without symbolic links, as /proc shows it.
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

// LogTo appends the output of a program to a file. The program holds the file itself, so that it can write after we have ended;
// call CloseLog once it runs to close our handle.
func LogTo(cmd *exec.Cmd, path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		_ = os.Rename(path, path+".1")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // exec then uses the null device; a log isn't worth failing a start
	}
	cmd.Stdout, cmd.Stderr = file, file
}

// CloseLog closes the handle that LogTo has opened.
func CloseLog(cmd *exec.Cmd) {
	if file, ok := cmd.Stdout.(*os.File); ok {
		_ = file.Close()
	}
}

// LogTail returns the end of a log, for the error of a server that didn't start.
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

// EnvironWithout returns our environment without the variables that begin with one of the prefixes.
func EnvironWithout(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
