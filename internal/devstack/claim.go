package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"holdfast/internal/devstack/child"
)

// Directories below the claimed one.
const (
	PostgresDir = "postgres"
	TemporalDir = "temporal"
)

// A Claimed directory is exclusively ours until it is released or this process ends, however it ends.
type Claimed struct {
	// Dir is its absolute path.
	Dir  string
	lock *os.File
}

// AlreadyRunningError reports that another process has claimed the directory.
type AlreadyRunningError struct {
	Dir string
	PID int // 0 if unknown
}

func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("the dev stack in %s is in use by process %d: stop that one first", e.Dir, e.PID)
}

// Claim claims a state directory, creating it if missing, and ends the servers that an earlier run left behind in its
// PostgresDir and TemporalDir. Call it before CheckPorts, which would report a leftover server. It returns an
// [AlreadyRunningError] if another process has the directory.
func Claim(ctx context.Context, dir string) (*Claimed, error) {
	dir, err := child.MakeDir(dir, child.PassableDir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "lock")
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("claim %s: %w", dir, err)
	}
	claimed := &Claimed{Dir: dir, lock: lock}
	// The kernel releases the lock when we end. Children don't inherit the handle.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer claimed.Release()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &AlreadyRunningError{Dir: dir, PID: child.ReadNumber(path)}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := errors.Join(lock.Truncate(0), writeNumber(lock, os.Getpid())); err != nil {
		return nil, errors.Join(fmt.Errorf("claim %s: %w", dir, err), lock.Close())
	}
	if err := claimed.endLeftovers(ctx); err != nil {
		claimed.Release()
		return nil, err
	}
	return claimed, nil
}

// Release gives up the claim.
func (c *Claimed) Release() { _ = c.lock.Close() }

func (c *Claimed) endLeftovers(ctx context.Context) error {
	return errors.Join(
		endTemporal(ctx, filepath.Join(c.Dir, TemporalDir, "temporal.pid")),
		endPostgres(ctx, filepath.Join(c.Dir, PostgresDir, "data")),
	)
}

func writeNumber(file *os.File, n int) error {
	_, err := file.WriteAt([]byte(strconv.Itoa(n)+"\n"), 0)
	return err
}
