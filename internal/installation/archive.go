package installation

import (
	"context"
	"fmt"
	"time"

	"holdfast/archive"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/config"
	"holdfast/persistence"
)

// Purger removes what is outdated.
type Purger interface {
	// PurgeBatch removes some of what was kept since before a time; 0 means that nothing is left to remove.
	PurgeBatch(ctx context.Context, kept retention.Kept, before time.Time) (int64, error)
	// PurgeBatchBy is PurgeBatch for an operator.
	PurgeBatchBy(ctx context.Context, kept retention.Kept, before time.Time, by oversight.Actor) (int64, error)
}

// NewPurger removes what is outdated, after it is in the archive where there is one.
func NewPurger(cfg config.Config, store *persistence.Store) (Purger, error) {
	keeper, err := NewArchiveKeeper(cfg, store)
	if keeper == nil || err != nil {
		return store.Upkeep, err
	}
	return keeper, nil
}

// NewArchiveKeeper keeps the configured archive; nil where there is none. It connects to nothing.
func NewArchiveKeeper(cfg config.Config, store *persistence.Store) (*archive.Keeper, error) {
	if cfg.Retention.Archive == "" {
		return nil, nil //nolint:nilnil // none is no mistake
	}
	bucket, err := archive.Open(cfg.Retention.Archive)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_ARCHIVE: %w", err)
	}
	return &archive.Keeper{Store: store.Upkeep, Bucket: bucket}, nil
}
