package subscriptions

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/jackc/pgx/v5"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence/postgres"
)

const (
	// plainHeaders selects destinations whose header values were stored by a release without encryption.
	plainHeaders = `
SELECT id, settings FROM destinations
 WHERE deleted_at IS NULL AND jsonb_typeof(settings -> 'http' -> 'headers') = 'object'
 ORDER BY id FOR UPDATE`

	// sealHeaders doesn't change the version, so that processes of the previous release continue with their cache.
	sealHeaders = `UPDATE destinations SET settings = $2::jsonb, headers = $3 WHERE id = $1`

	// dropHeaders is for deleted rows that will never be read again.
	dropHeaders = `
UPDATE destinations SET settings = settings #- '{http,headers}'
 WHERE deleted_at IS NOT NULL AND jsonb_typeof(settings -> 'http' -> 'headers') = 'object'`
)

// hideHeaders masks the values of headers. Values that a release stored in the settings are converted to the form of the column.
func (d *destination) hideHeaders() error {
	if d.HTTP == nil {
		return nil
	}
	if d.headers == nil && len(d.HTTP.Headers) > 0 {
		var err error
		if d.headers, err = json.Marshal(d.HTTP.Headers); err != nil {
			return err
		}
	}
	d.HTTP.Headers = d.HTTP.Headers.Masked()
	return nil
}

func (s *Store) openHeaders(stored []byte) (h delivery.Headers, err error) {
	err = s.unseal(stored, &h)
	return h, err
}

// headersFor returns the header values of a destination as they are stored, and whether they are unchanged.
func (s *Store) headersFor(d delivery.Destination, before *destination) (sealed []byte, same bool, err error) {
	var stored delivery.Headers
	var unread error
	if before != nil {
		stored, unread = s.openHeaders(before.headers)
	}
	if d.HTTP == nil || len(d.HTTP.Headers) == 0 {
		return nil, unread == nil && len(stored) == 0, nil
	}
	whole, missing := d.HTTP.Headers.Over(stored)
	switch {
	case missing != "" && unread != nil:
		return nil, false, unread
	case missing != "":
		return nil, false, event.Rejectf("invalid_destination", "http.headers.%s: has no value, and none is stored", missing)
	case unread == nil && maps.Equal(whole, stored):
		return before.headers, true, nil
	}
	sealed, err = s.seal(whole)
	return sealed, false, err
}

// MaskHeaders returns a destination with a mask in place of each header value that equals the stored one, so that it can be
// compared with the stored destination.
func (s *Store) MaskHeaders(ctx context.Context, d delivery.Destination) (delivery.Destination, error) {
	if d.HTTP == nil || len(d.HTTP.Headers) == 0 {
		return d, nil
	}
	before, err := s.destination(ctx, d.Name)
	if errors.Is(err, event.ErrNotFound) || err == nil && before.Name != d.Name {
		return d, nil
	}
	stored, unread := s.openHeaders(before.headers)
	if err != nil || unread != nil {
		return d, nil //nolint:nilerr // to apply it repairs it
	}
	masked := *d.HTTP
	masked.Headers = maps.Clone(masked.Headers)
	for name, value := range stored {
		if given, ok := masked.Headers[name]; ok && (given == value || given == "") {
			masked.Headers[name] = delivery.MaskedHeader
		}
	}
	d.HTTP = &masked
	return d, nil
}

// SealHeaders moves header values out of the settings, where a release stored them in clear, and returns for how many
// destinations. It may run any number of times.
func (s *Store) SealHeaders(ctx context.Context) (n int, err error) {
	n, err = s.sealAllHeaders(ctx)
	return n, postgres.Failure("encrypt header values of destinations", err)
}

func (s *Store) sealAllHeaders(ctx context.Context) (int, error) {
	sealed := &pgx.Batch{}
	b := &pgx.Batch{}
	b.Queue(dropHeaders)
	b.Queue(plainHeaders).Query(func(rows pgx.Rows) error {
		var id int64
		var settings []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &settings}, func() error { return s.queueSealed(sealed, id, settings) })
		return err
	})
	tx, err := s.db.Begin(ctx, b)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	n := sealed.Len()
	return n, tx.Commit(ctx, sealed)
}

// queueSealed keeps all other settings unchanged, also those that only another version can read.
func (s *Store) queueSealed(b *pgx.Batch, id int64, settings []byte) error {
	var all, http map[string]json.RawMessage
	var values delivery.Headers
	if json.Unmarshal(settings, &all) != nil || json.Unmarshal(all["http"], &http) != nil ||
		json.Unmarshal(http["headers"], &values) != nil {
		return nil //nolint:nilerr // what can't be read waits until it is applied again
	}
	headers, err := s.seal(values)
	if err != nil {
		return err
	}
	if http["headers"], err = json.Marshal(values.Names()); err != nil {
		return err
	}
	if all["http"], err = json.Marshal(http); err != nil {
		return err
	}
	text, err := json.Marshal(all)
	b.Queue(sealHeaders, id, string(text), headers)
	return err
}
