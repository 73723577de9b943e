package maintenance

import (
	"context"
	"errors"
	"time"

	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// PlanPurge returns the time before which a purge removes each kind of data. Kinds that are kept forever are missing.
func (s *Service) PlanPurge(ctx context.Context) (map[retention.Kind]time.Time, error) {
	keep, err := s.Keep(ctx)
	if err != nil {
		return nil, err
	}
	plan := map[retention.Kind]time.Time{}
	for _, kind := range retention.All() {
		if before, ok := keep.Until(kind, time.Now()); ok {
			plan[kind] = before
		}
	}
	return plan, nil
}

// Purge removes what is older than its retention, and returns the number of rows by kind. Kinds that are kept forever are
// missing. An error of one kind doesn't stop the others.
func (s *Service) Purge(ctx context.Context, by oversight.Actor) (removed map[retention.Kind]int64, err error) {
	purger, err := s.Purger()
	if err != nil {
		return nil, err
	}
	keep, err := s.Keep(ctx)
	if err != nil {
		return nil, err
	}
	removed = map[retention.Kind]int64{}
	for _, kind := range retention.All() {
		before, ok := keep.Until(kind, time.Now())
		if !ok {
			continue
		}
		n, failed := purgeAll(ctx, purger, kind, before, by)
		removed[kind], err = n, errors.Join(err, failed)
	}
	return removed, err
}

func purgeAll(ctx context.Context, p Purger, kind retention.Kind, before time.Time, by oversight.Actor) (total int64, err error) {
	for {
		n, err := p.PurgeBatchBy(ctx, kind, before, by)
		if total += n; err != nil || n == 0 {
			return total, err
		}
	}
}
