package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// source is a program's source at a pinned commit.
type source struct {
	// folder is the name of the folder with it.
	folder, url, commit string
}

var (
	convoySource = source{"convoy", "https://github.com/frain-dev/convoy", "2b60cc652e1d4babc1857280d5911817960e83e7"}

	outpostSource = source{"outpost", "https://github.com/hookdeck/outpost", "f67ae011b287ff2588cb06699d808a69bba6ab4d"}
)

// module is a module that Convoy requires and some module proxies don't serve. It is optional.
type module struct {
	source

	path string
	// about says what is used in place of the version that Convoy requires; "" if it is that version.
	about string
}

// modules are used only if their folders exist.
var modules = []module{
	{
		source{"requestmigrations", "https://github.com/subomi/requestmigrations", "f34b2ff23d8f5e5ffb0cd66f9e309f8a80edf35e"},
		"github.com/subomi/requestmigrations/v2", "",
	},
	{
		source{"gopartman", "https://github.com/jirevwe/gopartman", "0ce6b6cab5b5b7289325a22b66c58724a6275e4b"},
		"github.com/jirevwe/gopartman", "gopartman 0.1.0 instead of 0.2.0; Convoy uses it for retention, which is off",
	},
}

// check returns an error that says how to get the source, if it is missing.
func (s source) check(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, s.folder)); err != nil {
		return fmt.Errorf("%w\nTo get it:\n  git clone %s %s\nIt is built at commit %s; a folder without git is used as it is",
			err, s.url, filepath.Join(dir, s.folder), s.commit)
	}
	return nil
}

// isThere reports whether the folder exists.
func (s source) isThere(dir string) bool { return s.check(dir) == nil }

// copyTo copies the source into an empty folder, and returns its version: the commit, or that it is a folder.
func (s source) copyTo(ctx context.Context, dir, to string) (version string, err error) {
	from := filepath.Join(dir, s.folder)
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
		return "", err
	}
	if err := git(ctx, from, "cat-file", "-e", s.commit+"^{commit}").Run(); err == nil {
		return s.commit[:8], s.extract(ctx, from, to)
	}
	if isRepository(from) {
		return "", fmt.Errorf("%s has no commit %s: run git -C %s fetch origin %s", from, s.commit, from, s.commit)
	}
	return "a folder", os.CopyFS(to, os.DirFS(from))
}

func isRepository(dir string) bool {
	for _, mark := range []string{".git", "packed-refs", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return true
		}
	}
	return false
}

func git(ctx context.Context, dir string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
}

// extract writes the files of the commit. Examples aren't built and may be large.
func (s source) extract(ctx context.Context, from, to string) error {
	archive := git(ctx, from, "archive", s.commit, "--", ".", ":(exclude)examples")
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", to)
	var err error
	if unpack.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	unpack.Stderr = os.Stderr
	if err := archive.Start(); err != nil {
		return err
	}
	err = unpack.Run()
	if err := errors.Join(err, archive.Wait()); err != nil {
		return fmt.Errorf("extract %s of %s: %w", s.commit, from, err)
	}
	return nil
}
