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

// Brought is one thing that an import brings, on its way through the writer.
type Brought struct {
	operation.ImportItem

	write *write
}

// NewBrought prepares everything that needs no database. Of an event, p is what its definition says of it.
func NewBrought(item operation.ImportItem, p event.Parsed) (b *Brought, err error) {
	b = &Brought{ImportItem: item}
	r := item.Receipt
	run := event.Run{WorkflowID: r.WorkflowID()} // as a run has it that Temporal has forgotten
	switch item.Record {
	case operation.ImportEvent:
		extent := wholeEvent
		if item.Stored != nil && item.Stored.Event.Status == event.StatusDead {
			extent = rowOnly // it was given up, and has done nothing
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

// newClaim is a write of nothing but the key.
func newClaim(r event.Receipt) (*write, error) {
	var id pgtype.UUID
	if id.Scan(r.ID) != nil || !id.Valid {
		return nil, event.Rejectf("malformed_id", "the event's ID is no UUID")
	}
	r.ID = id.String()
	return &write{receipt: r, extent: rowOnly}, nil
}

// newSnapshot is a write of what an entity was, without an event.
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

// Identity is what no two of a transaction may share: the ID, and the key where there is one.
func (b *Brought) Identity() (id string, key [2]string) {
	return b.write.receipt.ID, [2]string{b.write.provider(), b.write.receipt.Key}
}

// IsNew says whether the transaction has written it. It is false for what was there, or is decided about.
func (b *Brought) IsNew() bool {
	if b.Record == operation.ImportEntity {
		return b.write.relinks()
	}
	return b.write.owns()
}

// ownsImported says whether there is anything to write. What an import brings once more, or live traffic has brought, stays as it
// is: a key is claimed once; an event has no row yet, and its key is claimed with it, or belongs to its own dead letter; of an
// entity, a snapshot of the same time may say something else now.
func (w *write) ownsImported() bool {
	f := w.found
	switch {
	case f.verdict != nil, f.isHere:
		return false
	case w.brought == operation.ImportEntity:
		return true
	case w.brought == operation.ImportEvent:
		return f.status == "" && (f.claimed || (f.isDead || w.isStored) && f.owner == w.receipt.ID ||
			f.owner != w.receipt.ID && f.ownerReceived != nil && w.receipt.BeforeWindowOf(*f.ownerReceived))
	default:
		return f.status == "" && (f.claimed || w.isStored && !f.isDead && f.owner == w.receipt.ID)
	}
}

// hasRow says whether the event gets a row.
func (w *write) hasRow() bool { return w.brought == "" || w.brought == operation.ImportEvent }

// queueImportedClaims notes which keys are claimed, and which events are here by now.
func queueImportedClaims(b *pgx.Batch, ws []*write) {
	byID := make(map[string]*write, len(ws))
	var workflows []string
	for _, w := range ws {
		w.found.claimed, w.found.isHere = false, false // of an attempt before
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

// Bring writes what an import brings, of which no two share an identity, in a transaction that has begun, and commits it
// together with what the caller has to do last, which knows what is new. A trial does everything but commit. It makes no
// deliveries: whoever is to have these events has had them from the system before.
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
