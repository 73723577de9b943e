package read

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

// walksDeliveries reports whether a list begins with the deliveries. A key or an entity selects few events, which come first.
func walksDeliveries(q event.RecordQuery) bool {
	return q.DeliveryStatus != "" && q.Key == "" && q.Entity == nil
}

// newestDeliveries lists the deliveries among which those with a status are, and says of each whether it has it.
func newestDeliveries(q event.RecordQuery) *postgres.List {
	list := outbox.WithStatus(delivery.Status(q.DeliveryStatus))
	acceptedBetween(list, "q.event_id", q)
	return list
}

// eventsDelivered replaces the table of events by those that have a delivery with a status, among the newest deliveries. All
// deliveries of an event are read, or none. It reads no event that it doesn't return, however rare the status is.
func eventsDelivered(q event.RecordQuery) (from string, args []any) {
	newest := newestDeliveries(q)
	return ` FROM (
       SELECT DISTINCT event_id FROM (` + newest.Statement() + `
               ORDER BY q.event_id DESC FETCH FIRST ` + strconv.Itoa(event.MaxSearchedDeliveries) + ` ROWS WITH TIES) AS newest
        WHERE has_status ORDER BY event_id DESC) AS delivered
 CROSS JOIN LATERAL (SELECT * FROM events WHERE id = delivered.event_id OFFSET 0) AS events`, newest.Args
}

// endOfDeliveries returns the ID of the last event whose deliveries were read; empty if all were.
func (s *Store) endOfDeliveries(ctx context.Context, q event.RecordQuery) (id string, err error) {
	list := newestDeliveries(q)
	sql := list.Statement() + ` ORDER BY q.event_id DESC OFFSET ` + strconv.Itoa(event.MaxSearchedDeliveries-1) + ` LIMIT 1`
	_, err = pgx.ForEachRow(s.db.Rows(ctx, `SELECT event_id::text FROM (`+sql+`) AS last`, list.Args...), []any{&id},
		func() error { return nil })
	return id, err
}
