package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// manual writes man pages and shell completions to a new folder, as /usr/local/share has them, and returns it. They are the same
// for all platforms. cmd/holdfast/manual.go has the command.
func (s source) manual(ctx context.Context, work string) (string, error) {
	program, share := filepath.Join(work, "holdfast-manual"), filepath.Join(work, "share")
	host := platform{runtime.GOOS, runtime.GOARCH}
	if err := s.compile(ctx, host, "", "-tags", "manual", "-o", program, "./cmd/holdfast"); err != nil {
		return "", err
	}
	return share, s.writeManual(ctx, program, share)
}

func (s source) writeManual(ctx context.Context, program, share string) error {
	command := exec.CommandContext(ctx, program, "manual", share, s.time.UTC().Format(time.DateOnly))
	command.Env = []string{"HOME=/"} // nothing of this machine
	if _, err := run(command); err != nil {
		return err
	}
	return compressPages(filepath.Join(share, "man", "man1"))
}

// compressPages replaces each page by one that gzip has compressed, without its name and time.
func compressPages(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		page := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var compressed bytes.Buffer
		w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(page+".gz", compressed.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	return nil
}

// filesBelow returns the files of a folder in the order of their names, as entries of an archive below another one.
func filesBelow(dir, below string) (files []file, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, file{name: path.Join(below, name), mode: 0o644, source: filepath.Join(dir, name)})
		}
		return err
	})
	return files, err
}

// debianPath is where Debian's packages have a file of share.
func debianPath(name string) string {
	return "/usr/" + strings.Replace(name, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
}
