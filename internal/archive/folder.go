package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is an archive in a local directory.
type folder struct{ root string }

// tempSuffix is the suffix of temporary files.
const tempSuffix = ".unfinished"

// Put writes a temporary file, renames it, and syncs the file and its directories.
func (f folder) Put(_ context.Context, name string, content []byte) (err error) {
	path := filepath.Join(f.root, filepath.FromSlash(name))
	if err := f.makeDirectories(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".*"+tempSuffix) // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncDirectory(filepath.Dir(path))
}

// makeDirectories creates missing directories and syncs their parents.
func (f folder) makeDirectories(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := f.makeDirectories(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

func (f folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(f.root, filepath.FromSlash(name)))
}

func (f folder) List(ctx context.Context) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(f.root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && path != mark && !strings.HasSuffix(path, tempSuffix) {
			names = append(names, path) // in lexical order
		}
		return errors.Join(err, ctx.Err())
	})
	return names, err
}

// mark is an empty file in every archive folder. If it is missing, the disk may not be mounted.
const mark = "holdfast-archive"

func (f folder) Mark(ctx context.Context, isNew bool) error {
	_, err := os.Stat(filepath.Join(f.root, mark))
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case isNew:
		return f.Put(ctx, mark, nil)
	}
	return errors.New("the folder of HOLDFAST_ARCHIVE is not mounted, or isn't the folder of earlier files: the file " +
		mark + " is missing")
}

func (f folder) Remove(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(f.root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
