package subscriptions

import (
	"context"
	"errors"
	"maps"

	"holdfast/delivery"
	"holdfast/event"
)

// maskHeaders masks the values of headers: settings only have their names.
func (d *destination) maskHeaders() {
	if d.HTTP != nil {
		d.HTTP.Headers = d.HTTP.Headers.Masked()
	}
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

// MaskHeaders returns a destination with a mask in place of each header value, and of the key, that equals the stored one, so
// that it can be compared with the stored destination. Values that come with another URL or signature stay: some callers may
// change these only if they give the values again.
func (s *Store) MaskHeaders(ctx context.Context, d delivery.Destination) (delivery.Destination, error) {
	if link := d.Link(); link == nil || len(link.Headers) == 0 && !link.StoresKey() {
		return d, nil
	}
	before, err := s.destination(ctx, d.Name)
	if errors.Is(err, event.ErrNotFound) || err == nil && before.Name != d.Name {
		return d, nil
	}
	if err == nil && redirects(before, d) {
		return d, nil
	}
	stored, unread := s.openHeaders(before.headers)
	key, unreadKey := s.openKey(before.clientKey)
	if err != nil || unread != nil || unreadKey != nil {
		return d, nil //nolint:nilerr // to apply it repairs it
	}
	if d.HTTP == nil {
		return d.WithBroker(func(c *delivery.Connection) {
			if c.Key == key && sameCertificate(before, d) {
				c.Key = delivery.MaskedHeader
			}
		}), nil
	}
	masked := *d.HTTP
	masked.Headers = maps.Clone(masked.Headers)
	for name, value := range stored {
		if given, ok := masked.Headers[name]; ok && (given == value || given == "") {
			masked.Headers[name] = delivery.MaskedHeader
		}
	}
	if masked.Key != "" && masked.Key == key && sameCertificate(before, d) { // a renewed certificate comes with its key
		masked.Key = delivery.MaskedHeader
	}
	d.HTTP = &masked
	return d, nil
}

// redirects reports whether requests would go to another URL, or be signed differently.
func redirects(before destination, to delivery.Destination) bool {
	was, link := before.Link(), to.Link()
	return was != nil && (was.URL != link.URL || !delivery.SameJSON(was.Signature, link.Signature))
}
