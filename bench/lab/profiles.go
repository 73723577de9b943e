package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// CaptureProfiles profiles a process's CPU for d and writes the result, and its allocations since it started, to
// dir/NAME.cpu.pprof and dir/NAME.allocs.pprof. If the process serves no profiles, it does nothing.
func (n *Node) CaptureProfiles(ctx context.Context, dir, name string, length time.Duration) error {
	if n.Debug == "" {
		return nil
	}
	seconds := max(1, int(length.Seconds()))
	return errors.Join(
		n.save(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), filepath.Join(dir, name+".cpu.pprof")),
		n.save(ctx, "/debug/pprof/allocs", filepath.Join(dir, name+".allocs.pprof")),
	)
}

func (n *Node) save(ctx context.Context, page, path string) error {
	raw, err := n.Get(ctx, n.Debug+page)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(path, raw, 0o600)
}
