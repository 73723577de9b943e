package devstack

import (
	"errors"
	"fmt"
	"os"
)

// The dev server makes its schema in several steps, and takes a file that exists for one that has it. A server that was
// killed on its first start would therefore never start again over that file. So a file counts only when a server has
// been ready on it once: then a second file stands beside it.
func (t *Temporal) completeFile() string { return t.options.DBFile + ".complete" }

func (t *Temporal) markComplete() error {
	if t.options.DBFile == "" {
		return nil
	}
	return os.WriteFile(t.completeFile(), nil, 0o644)
}

// dropIncomplete moves a database that was never complete aside.
func (t *Temporal) dropIncomplete() error {
	file := t.options.DBFile
	if file == "" {
		return nil
	}
	if _, err := os.Stat(t.completeFile()); err == nil {
		return nil
	}
	for _, part := range []string{"", "-wal", "-shm", "-journal"} {
		err := os.Rename(file+part, file+".incomplete"+part)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("move an incomplete Temporal database aside: %w", err)
		}
	}
	return nil
}
