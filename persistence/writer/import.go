package writer

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/entities"
	"holdfast/persistence/keys"
	"holdfast/persistence/postgres"
)

// Imported is one imported record on its way through the writer.
type Imported struct {
	operation.ImportItem

	write *eventWrite
}

// NewImported prepares everything that needs no database. For an event, p is its parse.
func NewImported(item operation.ImportItem, p event.Parsed) (b *Imported, err error) {
	b = &Imported{ImportItem: item}
	r := item.Receipt
	run := event.Run{WorkflowID: r.WorkflowID()} // like a run that Temporal has already deleted
	switch item.Record {
	case operation.ImportEvent:
		scope := event.WholeEvent
		if item.Stored != nil && item.Stored.Event.Status == event.StatusDead {
			scope = event.RowOnly // it was discarded, and changed no entity
		}
		b.write, err = newWrite(r, item.Body, p, run, scope)
	case operation.ImportEntity:
		b.write, err = newSnapshot(*item.Entity)
	default:
		b.write, err = newClaim(r)
	}
	if err != nil {
		return nil, err
	}
	b.write.imported, b.write.isStored = item.Record, item.Stored != nil
	if item.Record == operation.ImportEvent && item.Stored == nil {
		b.write.identify()
		b.write.run.WorkflowID = b.write.receipt.WorkflowID()
	}
	if item.Stored != nil && item.Stored.DeadLetter != nil {
		b.write.duplicateOf = item.Stored.DeadLetter.DuplicateOf
	}
	return b, nil
}

// newClaim makes a write that only claims the key.
func newClaim(r event.Receipt) (*eventWrite, error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String()
	return &eventWrite{receipt: r, scope: event.RowOnly}, nil
}

// newSnapshot makes a write of an entity's earlier state, without an event.
func newSnapshot(s operation.ImportSnapshot) (*eventWrite, error) {
	c := event.Change{
		Kind: s.Kind, ExternalID: s.ExternalID, Op: event.OpSnapshot, State: s.State, Version: s.Version,
	}
	if len(s.Names) > 0 {
		c.Names = append([]event.Name{{Name: s.ExternalID}}, s.Names...)
	}
	if s.Deleted {
		c.Op = event.OpDelete
	}
	at := s.AsOf.UTC().Truncate(event.TimePrecision)
	return newWrite(event.Receipt{ID: s.ID(), Provider: s.Provider, ReceivedAt: at}, nil,
		event.Parsed{OccurredAt: at, Changes: []event.Change{c}}, event.Run{}, event.EntitiesOnly)
}

// Identity returns what must be unique within a transaction: the ID, and the key if there is one.
func (b *Imported) Identity() (id string, key [2]string) {
	return b.write.receipt.ID, [2]string{b.write.provider(), b.write.receipt.Key}
}

// IsNew reports whether the transaction has written the record. It is false for records that were there or that an operator has
// decided about.
func (b *Imported) IsNew() bool {
	if b.Record == operation.ImportEntity {
		return b.write.relinks()
	}
	return b.write.owns()
}

// ownsImported reports whether there is anything to write. Records that were already imported, or received live, stay unchanged:
// a key is claimed once; an event is written if it has no row yet, and its key is claimed with it or belongs to its own dead
// letter. A snapshot of an entity for the same time may differ now, so it is always written.
func (w *eventWrite) ownsImported() bool {
	c := w.current
	switch {
	case c.decision != nil, c.exists, w.repeatsFormer():
		return false
	case w.imported == operation.ImportEntity:
		return true
	case w.imported == operation.ImportEvent:
		return c.status == "" && (c.claimed || (c.isDead || w.isStored) && c.owner == w.receipt.ID || w.isBeforeOwner())
	case w.imported == operation.ImportDeadLetter && c.status == "" && !c.isDead && w.isBeforeOwner():
		return true
	default:
		isOwn := c.owner != "" && (c.owner == w.receipt.ID || c.owner == w.duplicateOf)
		return c.status == "" && (c.claimed || w.isStored && !c.isDead && isOwn)
	}
}

// isBeforeOwner reports whether the key now belongs to another event, received at least a dedupe window after this one.
func (w *eventWrite) isBeforeOwner() bool {
	c := w.current
	return c.owner != w.receipt.ID && c.ownerReceived != nil && w.receipt.BeforeWindowOf(*c.ownerReceived)
}

func (w *eventWrite) hasRow() bool { return w.imported == "" || w.imported == operation.ImportEvent }

// queueImportedClaims records which keys are claimed, and which events already exist.
func queueImportedClaims(b *pgx.Batch, ws []*eventWrite) {
	byID := make(map[string]*eventWrite, len(ws))
	var former []event.Receipt
	for _, w := range ws {
		w.current.claimed, w.current.exists = false, false // from an earlier attempt
		byID[w.receipt.ID] = w
		if w.former != nil {
			former = append(former, *w.former)
		}
	}
	receipts := postgres.Column(ws, func(w *eventWrite) event.Receipt { return w.receipt })
	keys.QueueImported(b, receipts, func(eventID string, exists bool) {
		byID[eventID].current.claimed, byID[eventID].current.exists = !exists, exists
	})
	keys.Sort(former)
	keys.QueueFree(b, former)
}

// Import writes imported records, no two with the same identity, in a transaction that has begun, and commits it together
// with what last queues. By then the caller can ask each record whether it is new. A trial does everything but commit. Import
// queues no deliveries: the previous system already delivered these events.
func (s *Store) Import(
	ctx context.Context, tx *postgres.Transaction, all []*Imported, isTrial bool, last func(*pgx.Batch),
) error {
	t := &transaction{
		Transaction: tx, locked: map[event.EntityRef]*entities.Life{}, entities: s.entities, isTrial: isTrial,
		events: make([]*eventWrite, len(all)),
	}
	for i, b := range all {
		t.events[i] = b.write
	}
	if len(all) > 0 {
		b := &pgx.Batch{}
		t.queueReads(b, timeouts{})
		if err := t.Send(ctx, b); err != nil {
			return err
		}
	}
	return t.finish(ctx, last)
}
