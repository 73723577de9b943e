package devstack

import (
	"errors"
	"fmt"
	"os"
)

// The dev server creates its schema in several steps, and assumes that an existing file has it. A server that was killed on its
// first start would therefore never start again over that file. So a file counts only if a server has been ready on it once,
// which a second file next to it records.
func (t *Temporal) completeFile() string { return t.options.DBFile + ".complete" }

func (t *Temporal) markComplete() error {
	if t.options.DBFile == "" {
		return nil
	}
	return os.WriteFile(t.completeFile(), nil, 0o644)
}

// dropIncomplete moves an incomplete database aside.
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
