package imports

import (
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/deadletters"
	"holdfast/persistence/fetches"
	"holdfast/persistence/postgres"
	"holdfast/persistence/writer"
)

// page holds the items of an import that one transaction applies.
type page struct {
	items    []importItem
	counts   operation.ImportCounts
	problems []operation.ImportProblem
}

// importItem is one of them: passed to the writer, or failed.
type importItem struct {
	record       operation.ImportRecord
	line         int64
	imported     *writer.Imported
	letter       *deadletters.Imported // inserted if the item is new; nil if it isn't a dead letter
	restored     *restored             // its archived values; nil if it isn't from an archive
	eventID      string                // of what is from an archive
	fetched      *event.Fetched        // the archived state that was fetched for the event; nil if there is none
	isUnreadable bool
	failed       error
}

// isNew reports whether the transaction writes it, once the writer has decided.
func (t *importItem) isNew() bool {
	if t.restored != nil && t.restored.letter != nil {
		return !t.restored.exists
	}
	return t.imported.IsNew()
}

// newPage prepares items up to the first that shares an identity with an earlier one. fault is the error of a page's only item.
func newPage(importID string, items []operation.ImportItem, parse event.Parser, fault error) (*page, error) {
	p := &page{counts: operation.ImportCounts{}}
	ids, keys := map[string]bool{}, map[[2]string]bool{}
	for _, item := range items {
		t, err := newImportItem(importID, item, parse, fault)
		if err != nil {
			return nil, err
		}
		if t.imported != nil {
			id, key := t.imported.Identity()
			if ids[id] || key[1] != "" && keys[key] {
				break
			}
			ids[id], keys[key] = true, true
		}
		p.items = append(p.items, t)
	}
	return p, nil
}

// newImportItem prepares one item. The error means that it needs a definition that this process lacks.
func newImportItem(importID string, item operation.ImportItem, parse event.Parser, fault error) (t importItem, err error) {
	t = importItem{record: item.Record, line: item.Line, failed: fault}
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
		item.Receipt.Fetched = item.Stored.Fetched.Fetched()
		t.eventID, t.fetched = item.Receipt.ID, item.Receipt.Fetched
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
		t.importLetter(item, failureOf(*item.Failure))
		return t, nil
	}
	t.imported, t.failed = writer.NewImported(item, event.Parsed{})
	return t, nil
}

// readEvent parses an event with its definition. If the definition can't parse it, it becomes a dead letter.
func (t *importItem) readEvent(item operation.ImportItem, parse event.Parser) error {
	if t.restored != nil && item.Stored.Event.Status == event.StatusDead {
		t.imported, t.failed = writer.NewImported(item, parsedOf(*item.Stored.Event))
		return nil
	}
	p, err := parse(item.Receipt, item.Body)
	switch {
	case isMissingHere(err):
		return err
	case err != nil:
		t.isUnreadable, t.restored = true, nil
		item.Record = operation.ImportDeadLetter
		t.importLetter(item, unreadable(err))
	default:
		t.imported, t.failed = writer.NewImported(item, p)
	}
	return nil
}

func (t *importItem) importLetter(item operation.ImportItem, f event.Failure) {
	if t.letter, t.failed = deadletters.NewImported(item, f); t.failed == nil {
		t.imported, t.failed = writer.NewImported(item, event.Parsed{})
	}
}

// unreadable returns the failure of an event that today's definition can't parse.
func unreadable(err error) event.Failure {
	return event.Failure{
		Step: event.StepParse, Class: event.ClassOf(err), Code: event.CodeOf(err), Message: err.Error(), Attempts: 1,
		At: time.Now().UTC(),
	}
}

// failureOf returns the failure in the previous system.
func failureOf(t operation.ImportFailure) event.Failure {
	return event.Failure{
		Step: event.StepStart, Class: event.ClassFailed, Code: "imported", Message: t.Error, Attempts: t.Attempts,
		At: t.LastFailedAt.UTC(),
	}
}

func (p *page) imported() (all []*writer.Imported) {
	for _, t := range p.items {
		if t.imported != nil {
			all = append(all, t.imported)
		}
	}
	return all
}

func (p *page) queueLetters(b *pgx.Batch) {
	for _, t := range p.items {
		if t.letter != nil && t.imported != nil && t.isNew() {
			t.letter.Queue(b)
		}
		if t.fetched != nil && t.failed == nil && t.isNew() {
			fetches.QueueSave(b, t.eventID, *t.fetched)
		}
	}
	queueRestored(b, p.items)
}

// count counts the results of the items, once the writer has decided.
func (p *page) count() {
	p.counts, p.problems = operation.ImportCounts{}, nil
	for _, t := range p.items {
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

func problemOf(t importItem) operation.ImportProblem {
	return operation.ImportProblem{
		Line: t.line, Record: t.record, Class: event.ClassOf(t.failed), Code: event.CodeOf(t.failed),
		Message: postgres.Clip(postgres.Clean(t.failed.Error()), maxProblem),
	}
}

// queueAdvance adds the page to the counts of its import, whose row is locked, and removes the applied rows.
func (p *page) queueAdvance(b *pgx.Batch, of operation.Import, last int64) {
	p.count()
	if of.Counts == nil {
		of.Counts = operation.ImportCounts{}
	}
	of.Counts.AddAll(p.counts)
	if room := operation.MaxProblems - len(of.Problems); room > 0 {
		of.Problems = append(of.Problems, p.problems[:min(room, len(p.problems))]...)
	}
	b.Queue(advanceImport, of.ID, len(p.items), postgres.JSON{Of: of.Counts},
		postgres.JSON{Of: append([]operation.ImportProblem{}, of.Problems...)}, p.providers())
	b.Queue(dropApplied, of.ID, last)
}

// providers returns the providers of the page's keys.
func (p *page) providers() []string {
	providers := map[string]bool{}
	for _, t := range p.items {
		if t.imported == nil {
			continue
		}
		if _, key := t.imported.Identity(); key[1] != "" {
			providers[key[0]] = true
		}
	}
	return slices.Sorted(maps.Keys(providers))
}
