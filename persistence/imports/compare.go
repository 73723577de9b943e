package imports

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/event/fold"
	"holdfast/event/operation"
	"holdfast/persistence/postgres"
)

const (
	// selectByKey finds an event by its imported ID, since several may have had its key. Otherwise it finds the owner of its key, or
	// the latest event that had it, since a key is purged after its window. An event may have failed before it had a key: then its
	// dead letter has the key.
	selectByKey = `
SELECT wanted.n, coalesce(known.id::text, past.id::text, ''), coalesce(e.status, past.status, ''),
       CASE WHEN known.id IS NOT NULL
            THEN EXISTS (SELECT FROM dead_letters AS d WHERE d.event_id = known.id
                            AND d.subscription_id = 0 AND d.state IN ('open', 'replaying', 'exhausted'))
            ELSE EXISTS (SELECT FROM dead_letters AS d WHERE d.workflow_id = wanted.workflow_id
                            AND d.subscription_id = 0 AND d.state IN ('open', 'replaying', 'exhausted')) END
  FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) WITH ORDINALITY AS wanted (provider, key, workflow_id, id, n)
  LEFT JOIN LATERAL (
       SELECT event_id FROM idempotency_keys WHERE provider = wanted.provider AND key = wanted.key OFFSET 0) AS k ON true
 CROSS JOIN LATERAL (
       SELECT CASE WHEN EXISTS (SELECT FROM events WHERE events.id = wanted.id OFFSET 0)
                     OR EXISTS (SELECT FROM dead_letters WHERE event_id = wanted.id AND subscription_id = 0)
                   THEN wanted.id ELSE k.event_id END AS id) AS known
  LEFT JOIN LATERAL (SELECT status FROM events WHERE id = known.id OFFSET 0) AS e ON true
  LEFT JOIN LATERAL (
       SELECT p.id, p.status FROM events AS p
        WHERE known.id IS NULL
          AND (p.workflow_id = wanted.workflow_id
               OR p.workflow_id LIKE 'batch/%' AND p.provider = wanted.provider AND p.key = wanted.key)
        ORDER BY p.id DESC LIMIT 1) AS past ON true`

	// selectStates finds an entity by any of its names.
	selectStates = `
SELECT wanted.n, e.state, e.deleted
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (provider, kind, name, n)
  LEFT JOIN LATERAL (
       SELECT external_id FROM entity_names
        WHERE provider = wanted.provider AND kind = wanted.kind AND name = wanted.name OFFSET 0) AS s ON true
 CROSS JOIN LATERAL (
       SELECT state, deleted FROM entities
        WHERE provider = wanted.provider AND kind = wanted.kind AND external_id = coalesce(s.external_id, wanted.name)
       OFFSET 0) AS e`

	eventsBetween = `
SELECT id::text, key FROM events WHERE provider = $1 AND id > $2::uuid AND id <= $3::uuid ORDER BY events.id LIMIT $4`
)

// compared is the database's counterpart of one item.
type compared struct {
	eventID string
	status  event.Status
	waits   bool
	entity  *event.Entity // nil if there is none
}

// CompareImport returns how each item differs from the database, in the order of the items.
func (s *Store) CompareImport(ctx context.Context, items []operation.ImportItem) ([]operation.ImportCompared, error) {
	here := make([]compared, len(items))
	b := &pgx.Batch{}
	b.Queue(`SELECT ` + postgres.SettingsOfPlans)
	queueKeys(b, items, here)
	queueStates(b, items, here)
	if err := s.DB.SendRead(ctx, b); err != nil {
		return nil, postgres.Failure("compare with an import", err)
	}
	all := make([]operation.ImportCompared, len(items))
	for i, item := range items {
		var err error
		all[i].EventID = here[i].eventID
		if item.Record == operation.ImportEntity {
			all[i].Differences, err = differencesOfEntity(item, here[i].entity)
		} else {
			all[i].Differences = differencesOfEvent(item, here[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func queueKeys(b *pgx.Batch, items []operation.ImportItem, here []compared) {
	var providers, keys, workflows, ids []string
	var at []int
	for i, item := range items {
		if r := item.Receipt; item.Record != operation.ImportEntity {
			providers, keys = append(providers, postgres.Clean(r.Provider)), append(keys, postgres.Clean(r.Key))
			workflows, ids, at = append(workflows, postgres.Clean(r.WorkflowID())), append(ids, r.ID), append(at, i)
		}
	}
	var n int
	var c compared
	b.Queue(selectByKey, providers, keys, workflows, ids).
		Query(postgres.ForEach([]any{&n, &c.eventID, &c.status, &c.waits}, func() { here[at[n-1]] = c }))
}

func queueStates(b *pgx.Batch, items []operation.ImportItem, here []compared) {
	var providers, kinds, ids []string
	var at []int
	for i, item := range items {
		if e := item.Entity; e != nil {
			providers, kinds = append(providers, postgres.Clean(e.Provider)), append(kinds, postgres.Clean(e.Kind))
			ids, at = append(ids, postgres.Clean(e.ExternalID)), append(at, i)
		}
	}
	b.Queue(selectStates, providers, kinds, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n int
			e := &event.Entity{}
			if err := rows.Scan(&n, &e.State, &e.Deleted); err != nil {
				return err
			}
			here[at[n-1]].entity = e
		}
		return rows.Err()
	})
}

func differencesOfEvent(item operation.ImportItem, c compared) []operation.ImportDifference {
	d := operation.ImportDifference{
		Line: item.Line, Record: item.Record, Provider: item.Receipt.Provider, Name: item.Receipt.Key, EventID: c.eventID,
	}
	waitsThere := item.Record == operation.ImportDeadLetter
	switch {
	case c.eventID == "" && !c.waits:
		d.Differ = operation.DiffersMissing
	case item.Record != operation.ImportKey && c.waits != waitsThere && (c.waits || c.status != ""):
		d.Differ, d.Field = operation.DiffersStatus, "status"
		d.There, d.Here = nameOfWait(waitsThere, ""), nameOfWait(c.waits, c.status)
	default:
		return nil
	}
	return []operation.ImportDifference{d}
}

func nameOfWait(waits bool, status event.Status) json.RawMessage {
	if waits {
		return json.RawMessage(`"waits"`)
	}
	return json.RawMessage(`"` + string(cmp.Or(status, event.StatusProcessed)) + `"`)
}

func differencesOfEntity(item operation.ImportItem, here *event.Entity) (all []operation.ImportDifference, err error) {
	d := operation.ImportDifference{
		Line: item.Line, Record: item.Record, Provider: item.Entity.Provider, Name: item.Entity.Kind + " " + item.Entity.ExternalID,
	}
	if here == nil {
		d.Differ = operation.DiffersMissing
		return []operation.ImportDifference{d}, nil
	}
	fields, err := fold.Diff(event.Entity{State: item.Entity.State, Deleted: item.Entity.Deleted}, *here)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if f.Old == nil {
			continue // not named by the file
		}
		d.Differ, d.Field, d.There, d.Here = operation.DiffersField, f.Path, f.Old, f.New
		all = append(all, d)
	}
	return all, nil
}

// EventsBetween returns the events of a provider after one ID, up to and including another, by ID, up to limit. It reads only ID,
// Provider and Key of their receipts.
func (s *Store) EventsBetween(ctx context.Context, provider, after, last string, limit int) ([]event.Receipt, error) {
	all, err := pgx.CollectRows(s.DB.Rows(ctx, eventsBetween, postgres.Clean(provider), after, last, limit),
		func(row pgx.CollectableRow) (event.Receipt, error) {
			r := event.Receipt{Provider: provider}
			return r, row.Scan(&r.ID, &r.Key)
		})
	return all, postgres.Failure("list events of a time", err)
}
