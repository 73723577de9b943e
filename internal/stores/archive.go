package stores

import (
	"context"
	"fmt"
	"time"

	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/internal/config"
	"holdfast/persistence"
)

// Purger deletes outdated data.
type Purger interface {
	// PurgeBatch deletes a batch of data stored before a time; 0 means that none is left.
	PurgeBatch(ctx context.Context, kind retention.Kind, before time.Time) (int64, error)
	// PurgeBatchBy is PurgeBatch for an operator.
	PurgeBatchBy(ctx context.Context, kind retention.Kind, before time.Time, by oversight.Actor) (int64, error)
}

// NewPurger returns a Purger that first archives data, if an archive is configured.
func NewPurger(cfg config.Config, store *persistence.Store) (Purger, error) {
	keeper, err := NewArchiveKeeper(cfg, store)
	if keeper == nil || err != nil {
		return store.Upkeep, err
	}
	return keeper, nil
}

// NewArchiveKeeper returns the configured archive's keeper, or nil. It opens no connection.
func NewArchiveKeeper(cfg config.Config, store *persistence.Store) (*archive.Archiver, error) {
	if cfg.Retention.Archive == "" {
		return nil, nil //nolint:nilnil // nil means no archive
	}
	bucket, err := archive.Open(cfg.Retention.Archive)
	if err != nil {
		return nil, fmt.Errorf("HOLDFAST_ARCHIVE: %w", err)
	}
	return &archive.Archiver{Store: store.Upkeep, Bucket: bucket}, nil
}

// Retention returns the configured retention times.
func Retention(cfg config.Config) retention.Times {
	return retention.Times{
		retention.Events:      cfg.Retention.Events,
		retention.DeadLetters: cfg.Retention.DeadLetters,
		retention.Errors:      cfg.Retention.ErrorLog,
		retention.Audit:       cfg.Retention.AuditLog,
		retention.Changes:     cfg.Retention.Changes,
	}
}

// RetentionOfEvents returns the configured retention of events, 0 for unlimited, and the effective one, given Temporal's
// retention of runs.
func RetentionOfEvents(cfg config.Config, ofRuns time.Duration) (configured, effective time.Duration) {
	keep := Retention(cfg)
	return keep[retention.Events], keep.OutlastingRuns(ofRuns)[retention.Events]
}
