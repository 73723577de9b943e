package writer

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/persistence/entities"
	"holdfast/persistence/postgres"
)

// Brought is one imported record on its way through the writer.
type Brought struct {
	operation.ImportItem

	write *write
}

// NewBrought prepares everything that needs no database. For an event, p is its parse.
func NewBrought(item operation.ImportItem, p event.Parsed) (b *Brought, err error) {
	b = &Brought{ImportItem: item}
	r := item.Receipt
	run := event.Run{WorkflowID: r.WorkflowID()} // like a run that Temporal has already deleted
	switch item.Record {
	case operation.ImportEvent:
		extent := wholeEvent
		if item.Stored != nil && item.Stored.Event.Status == event.StatusDead {
			extent = rowOnly // it was discarded, and changed no entity
		}
		b.write, err = newWrite(r, item.Body, p, run, extent)
	case operation.ImportEntity:
		b.write, err = newSnapshot(*item.Entity)
	default:
		b.write, err = newClaim(r)
	}
	if err != nil {
		return nil, err
	}
	b.write.brought, b.write.isStored = item.Record, item.Stored != nil
	return b, nil
}

// newClaim makes a write that only claims the key.
func newClaim(r event.Receipt) (*write, error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String()
	return &write{receipt: r, extent: rowOnly}, nil
}

// newSnapshot makes a write of an entity's earlier state, without an event.
func newSnapshot(s operation.ImportSnapshot) (*write, error) {
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
		event.Parsed{OccurredAt: at, Changes: []event.Change{c}}, event.Run{}, entitiesOnly)
}

// Identity returns what must be unique within a transaction: the ID, and the key if there is one.
func (b *Brought) Identity() (id string, key [2]string) {
	return b.write.receipt.ID, [2]string{b.write.provider(), b.write.receipt.Key}
}

// IsNew reports whether the transaction has written the record. It is false for records that were there or that an operator has
// decided about.
func (b *Brought) IsNew() bool {
	if b.Record == operation.ImportEntity {
		return b.write.relinks()
	}
	return b.write.owns()
}

// ownsImported reports whether there is anything to write. Records that were already imported, or received live, stay unchanged:
// a key is claimed once; an event is written if it has no row yet, and its key is claimed with it or belongs to its own dead
// letter. A snapshot of an entity for the same time may differ now, so it is always written.
func (w *write) ownsImported() bool {
	f := w.found
	switch {
	case f.verdict != nil, f.isHere:
		return false
	case w.brought == operation.ImportEntity:
		return true
	case w.brought == operation.ImportEvent:
		return f.status == "" && (f.claimed || (f.isDead || w.isStored) && f.owner == w.receipt.ID || w.isBeforeOwner())
	case w.brought == operation.ImportDeadLetter && f.status == "" && !f.isDead && w.isBeforeOwner():
		return true
	default:
		return f.status == "" && (f.claimed || w.isStored && !f.isDead && f.owner == w.receipt.ID)
	}
}

// isBeforeOwner reports whether the key now belongs to another event, received at least a dedupe window after this one.
func (w *write) isBeforeOwner() bool {
	f := w.found
	return f.owner != w.receipt.ID && f.ownerReceived != nil && w.receipt.BeforeWindowOf(*f.ownerReceived)
}

func (w *write) hasRow() bool { return w.brought == "" || w.brought == operation.ImportEvent }

// queueImportedClaims records which keys are claimed, and which events already exist.
func queueImportedClaims(b *pgx.Batch, ws []*write) {
	byID := make(map[string]*write, len(ws))
	var workflows []string
	for _, w := range ws {
		w.found.claimed, w.found.isHere = false, false // from an earlier attempt
		byID[w.receipt.ID] = w
		workflows = append(workflows, postgres.Clean(w.receipt.WorkflowID()))
	}
	b.Queue(claimImported, append(columnsOfClaims(ws), workflows)...).Query(func(rows pgx.Rows) error {
		var id string
		var isHere bool
		_, err := pgx.ForEachRow(rows, []any{&id, &isHere}, func() error {
			byID[id].found.claimed, byID[id].found.isHere = !isHere, isHere
			return nil
		})
		return err
	})
}

// Bring writes imported records, no two with the same identity, in a transaction that has begun, and commits it together with
// what last queues. By then the caller can ask each record whether it is new. A trial does everything but commit. Bring queues no
// deliveries: the previous system already delivered these events.
func (s *Store) Bring(ctx context.Context, tx *postgres.Transaction, all []*Brought, isTrial bool, last func(*pgx.Batch)) error {
	t := &writing{
		Transaction: tx, held: map[event.EntityRef]*entities.Life{}, entities: s.entities, isTrial: isTrial,
		events: make([]*write, len(all)),
	}
	for i, b := range all {
		t.events[i] = b.write
	}
	if len(all) > 0 {
		b := &pgx.Batch{}
		t.queueLook(b)
		if err := t.Send(ctx, b); err != nil {
			return err
		}
	}
	return t.finish(ctx, last)
}
