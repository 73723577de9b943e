package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
)

// ArchiveError says that an event is expunged, but may still be in files of the archive.
type ArchiveError struct {
	Files int64
	Err   error
}

func (e *ArchiveError) Error() string {
	return fmt.Sprintf("it may still be in %d file(s) of the archive until the next successful purge: %v", e.Files, e.Err)
}

func (e *ArchiveError) Unwrap() error { return e.Err }

// PlanExpunge returns what an expunge of an event would do.
func (s *Service) PlanExpunge(ctx context.Context, id string) (retention.Expunged, error) {
	plan, _, err := s.plan(ctx, id)
	return plan, err
}

// Expunge removes the content of an event everywhere. It begins with Temporal: if it fails half-way, the database still lists the
// runs, and it can be repeated. With an *ArchiveError, the event is expunged.
func (s *Service) Expunge(ctx context.Context, id string, by oversight.Actor) (gone retention.Expunged, err error) {
	_, archived, err := s.plan(ctx, id)
	if err != nil {
		return gone, err
	}
	runs, err := s.forgetRuns(ctx, id)
	if err != nil {
		return gone, err
	}
	if gone, err = s.Events.ExpungeWith(ctx, archived, id, runs, by); err != nil || gone.ArchiveFiles == 0 {
		return gone, err
	}
	if err := s.cleanArchive(ctx); err != nil {
		return gone, &ArchiveError{gone.ArchiveFiles, err}
	}
	return gone, nil
}

// cleanArchive removes the event from the archive's files. The next purge finishes what fails now.
func (s *Service) cleanArchive(ctx context.Context) error {
	archive, err := s.Archive()
	switch {
	case err != nil:
		return err
	case archive == nil:
		return errors.New("HOLDFAST_ARCHIVE isn't set here, and the archive has files: give it the workers' value, such as " +
			"HOLDFAST_ARCHIVE=file:///var/lib/holdfast/archive")
	}
	return archive.Clean(ctx)
}

func (s *Service) forgetRuns(ctx context.Context, id string) (total int, err error) {
	workflowIDs, err := s.Events.WorkflowsOf(ctx, id)
	if err != nil && !errors.Is(err, event.ErrNotFound) {
		return 0, err // not found: its rows are purged, but its effects on entities may remain
	}
	slices.Sort(workflowIDs)
	for _, workflowID := range slices.Compact(workflowIDs) {
		n, err := s.Runs.Delete(ctx, workflowID)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// plan reads the archive only for entities that can't be folded without it.
func (s *Service) plan(ctx context.Context, id string) (plan retention.Expunged, of retention.Archived, err error) {
	if plan, err = s.Events.PlanExpunge(ctx, nil, id); err != nil {
		return plan, nil, err
	}
	var refs []event.EntityRef
	for _, ref := range append(slices.Clone(plan.Incomplete), plan.Collapsed...) {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return plan, nil, nil
	}
	archive, err := s.Archive()
	if archive == nil || err != nil {
		return plan, nil, err
	}
	if of, err = s.readHistory(ctx, archive, refs); err != nil {
		return plan, nil, fmt.Errorf("nothing was expunged: read the archive to recompute %d entities: %w", len(refs), err)
	}
	plan, err = s.Events.PlanExpunge(ctx, of, id)
	return plan, of, err
}

// readHistory reads the effects of archived events on entities.
func (s *Service) readHistory(ctx context.Context, archive Archive, refs []event.EntityRef) (retention.Archived, error) {
	var all []event.Entity
	for _, ref := range refs {
		e, err := s.Events.Entity(ctx, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	in, err := archive.Read(ctx)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return s.History(in, all)
}
