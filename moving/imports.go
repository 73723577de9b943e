package moving

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Books keeps imports.
type Books interface {
	// StageImport keeps things for an import that is yet to be made, from a number on.
	StageImport(ctx context.Context, id string, from int64, items []operation.ImportItem) error
	// DropImport removes what an import has kept and not applied. It leaves one alone that runs or is paused.
	DropImport(ctx context.Context, id string) error
	// CreateImport makes an import of what was kept under its ID, and audits it.
	CreateImport(ctx context.Context, i operation.Import, actor oversight.Actor) (operation.Import, error)
	// ChangeImport sets the state of one that has not ended, and audits it.
	ChangeImport(ctx context.Context, id string, to operation.State, actor oversight.Actor) (operation.Import, error)
	// Import reads one, as far as it has come.
	Import(ctx context.Context, id string) (operation.Import, error)
	// Imports are the latest, newest first.
	Imports(ctx context.Context, limit int) ([]operation.Import, error)
}

// Runs starts the workflows of imports.
type Runs interface {
	// WakeImport makes the workflow of an import look at its row, and starts it if there is none.
	WakeImport(ctx context.Context, id string) error
}

// Imports brings what was read. Its methods may be called at the same time, by several processes.
type Imports struct {
	Books Books
	Runs  Runs
}

// StartImport makes an import of what was kept under its ID, at a rate in lines a second, and starts its workflow. If only the
// latter fails the import is made and returned beside the error: the next sweep, or a resume, starts it.
func (s *Imports) StartImport(ctx context.Context, i operation.Import, actor oversight.Actor) (operation.Import, error) {
	if err := CheckRate(i.Rate); err != nil {
		return operation.Import{}, err
	}
	i.StartedBy = actor.Name
	i, err := s.Books.CreateImport(ctx, i, actor)
	if err != nil {
		return operation.Import{}, err
	}
	return i, s.wake(ctx, i.ID)
}

// CheckRate refuses what no import may have.
func CheckRate(rate float64) error {
	if !(rate >= operation.MinImportRate && rate <= operation.MaxImportRate) {
		return event.Rejectf("invalid_rate", "an import has a rate of %g to %d lines a second", operation.MinImportRate,
			operation.MaxImportRate)
	}
	return nil
}

// ChangeImport pauses an import, lets it go on (running; also one whose workflow is gone) or cancels it, which leaves what it has
// applied. One that has ended is refused with an event.Error of class rejected and code "import_ended".
func (s *Imports) ChangeImport(
	ctx context.Context, id string, to operation.State, actor oversight.Actor,
) (operation.Import, error) {
	i, err := s.Books.ChangeImport(ctx, id, to, actor)
	if err != nil {
		return operation.Import{}, err
	}
	return i, s.wake(ctx, id)
}

func (s *Imports) wake(ctx context.Context, id string) error {
	if err := s.Runs.WakeImport(ctx, id); err != nil {
		return fmt.Errorf("import %s is recorded, and its workflow could not be woken (the next sweep will): %w", id, err)
	}
	return nil
}

// Import reads one import, as far as it has come.
func (s *Imports) Import(ctx context.Context, id string) (operation.Import, error) {
	return s.Books.Import(ctx, id)
}

// Imports are the latest imports, newest first.
func (s *Imports) Imports(ctx context.Context, limit int) ([]operation.Import, error) {
	return s.Books.Imports(ctx, limit)
}
