package imports

import (
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// page are the next things of an import that one transaction applies.
type page struct {
	things   []thing
	counts   operation.ImportCounts
	problems []operation.ImportProblem
}

// thing is one of them: brought to the writer, or failed.
type thing struct {
	record       operation.ImportRecord
	line         int64
	brought      *writer.Brought
	letter       *deadletters.Imported // what goes with it, if it is new; nil if it is no dead letter
	restored     *restored             // what it was in an archive; nil if it comes from nowhere such
	isUnreadable bool
	failed       error
}

// isNew says whether the transaction writes it, once the writer knows.
func (t *thing) isNew() bool {
	if t.restored != nil && t.restored.letter != nil {
		return !t.restored.isThere
	}
	return t.brought.IsNew()
}

// newPage prepares things up to the first that shares an identity with one before. The fault is that of the only one.
func newPage(importID string, items []operation.ImportItem, parse event.Parser, fault error) (*page, error) {
	p := &page{counts: operation.ImportCounts{}}
	ids, keys := map[string]bool{}, map[[2]string]bool{}
	for _, item := range items {
		t, err := newThing(importID, item, parse, fault)
		if err != nil {
			return nil, err
		}
		if t.brought != nil {
			id, key := t.brought.Identity()
			if ids[id] || key[1] != "" && keys[key] {
				break
			}
			ids[id], keys[key] = true, true
		}
		p.things = append(p.things, t)
	}
	return p, nil
}

// newThing prepares one. The error says that it cannot be judged here and now.
func newThing(importID string, item operation.ImportItem, parse event.Parser, fault error) (t thing, err error) {
	t = thing{record: item.Record, line: item.Line, failed: fault}
	if t.failed != nil {
		return t, nil //nolint:nilerr // it is named, and passed over
	}
	if item.Receipt.Imported != nil {
		origin := *item.Receipt.Imported
		origin.ID = importID
		item.Receipt.Imported = &origin
	}
	if item.Stored != nil {
		t.restored = &restored{item: item}
	}
	if item.Record == operation.ImportEvent {
		err = t.readEvent(item, parse)
		return t, err
	}
	if t.restored != nil {
		t.restoreLetter(item)
		return t, nil
	}
	if item.Record == operation.ImportDeadLetter {
		t.bringLetter(item, failureOf(*item.Trouble))
		return t, nil
	}
	t.brought, t.failed = writer.NewBrought(item, event.Parsed{})
	return t, nil
}

// readEvent reads an event with its definition. What that cannot read waits as a dead letter for one that can.
func (t *thing) readEvent(item operation.ImportItem, parse event.Parser) error {
	if t.restored != nil && item.Stored.Event.Status == event.StatusDead {
		t.brought, t.failed = writer.NewBrought(item, parsedOf(*item.Stored.Event))
		return nil
	}
	p, err := parse(item.Receipt, item.Body)
	switch {
	case isMissingHere(err):
		return err
	case err != nil:
		t.isUnreadable, t.restored = true, nil
		item.Record = operation.ImportDeadLetter
		t.bringLetter(item, unreadable(err))
	default:
		t.brought, t.failed = writer.NewBrought(item, p)
	}
	return nil
}

func (t *thing) bringLetter(item operation.ImportItem, f event.Failure) {
	if t.letter, t.failed = deadletters.NewImported(item, f); t.failed == nil {
		t.brought, t.failed = writer.NewBrought(item, event.Parsed{})
	}
}

// unreadable is the failure of an event that today's definition cannot read.
func unreadable(err error) event.Failure {
	return event.Failure{
		Step: event.StepParse, Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error(), Attempts: 1,
		At: time.Now().UTC(),
	}
}

// failureOf is the failure that the system before had.
func failureOf(t operation.ImportTrouble) event.Failure {
	return event.Failure{
		Step: event.StepStart, Class: event.ClassFailed, Code: "imported", Message: t.Error, Attempts: t.Attempts,
		At: t.LastFailedAt.UTC(),
	}
}

// brought are those that are given to the writer.
func (p *page) brought() (all []*writer.Brought) {
	for _, t := range p.things {
		if t.brought != nil {
			all = append(all, t.brought)
		}
	}
	return all
}

// queueLetters opens the dead letters of those that are new.
func (p *page) queueLetters(b *pgx.Batch) {
	for _, t := range p.things {
		if t.letter != nil && t.brought != nil && t.isNew() {
			t.letter.Queue(b)
		}
	}
	queueRestored(b, p.things)
}

// count counts what has become of the things, once the writer knows.
func (p *page) count() {
	p.counts, p.problems = operation.ImportCounts{}, nil
	for _, t := range p.things {
		switch {
		case t.failed != nil:
			p.counts.Add(t.record, operation.ImportFailed)
			p.problems = append(p.problems, problemOf(t))
		case !t.isNew():
			p.counts.Add(t.record, operation.ImportThere)
		case t.isUnreadable:
			p.counts.Add(t.record, operation.ImportUnreadable)
		default:
			p.counts.Add(t.record, operation.ImportNew)
		}
	}
}

// maxProblem is in bytes.
const maxProblem = 500

func problemOf(t thing) operation.ImportProblem {
	return operation.ImportProblem{
		Line: t.line, Record: t.record, Class: event.ClassOf(t.failed), Code: event.CodeOf(t.failed),
		Message: postgres.Clip(postgres.Clean(t.failed.Error()), maxProblem),
	}
}

// queueAdvance counts the page in the row of its import, which is locked, and removes what it has applied.
func (p *page) queueAdvance(b *pgx.Batch, of operation.Import, last int64) {
	p.count()
	if of.Counts == nil {
		of.Counts = operation.ImportCounts{}
	}
	of.Counts.AddAll(p.counts)
	if room := operation.MaxProblems - len(of.Problems); room > 0 {
		of.Problems = append(of.Problems, p.problems[:min(room, len(p.problems))]...)
	}
	b.Queue(advanceImport, of.ID, len(p.things), postgres.JSON{Of: of.Counts},
		postgres.JSON{Of: append([]operation.ImportProblem{}, of.Problems...)})
	b.Queue(dropApplied, of.ID, last)
}
