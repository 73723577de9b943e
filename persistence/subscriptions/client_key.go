package subscriptions

import (
	"strings"

	"holdfast/delivery"
	"holdfast/event"
)

// clientKey is the form in which the key of a client certificate is stored.
type clientKey struct {
	Key string `json:"key"`
}

func (s *Store) openKey(stored []byte) (key string, err error) {
	var of clientKey
	err = s.unseal(stored, &of)
	return of.Key, err
}

// keyFor returns the key of a destination's client certificate as it is stored, and whether it is unchanged. A masked key keeps
// the stored one only for the same certificate, so that a certificate always comes with its key.
func (s *Store) keyFor(d delivery.Destination, before *destination) (sealed []byte, same bool, err error) {
	var was []byte
	if before != nil {
		was = before.clientKey
	}
	if d.HTTP == nil || !d.HTTP.StoresKey() {
		return nil, len(was) == 0, nil
	}
	if d.HTTP.Key == delivery.MaskedHeader {
		if len(was) == 0 || !sameCertificate(*before, d) {
			return nil, false, event.Rejectf("invalid_destination",
				"http.key: give the key of this certificate; the stored one belongs to another, or there is none")
		}
		return was, true, nil
	}
	if key, unread := s.openKey(was); unread == nil && key == d.HTTP.Key {
		return was, true, nil
	}
	sealed, err = s.seal(clientKey{d.HTTP.Key})
	return sealed, false, err
}

// sameCertificate ignores the white space around it, which forms and files change.
func sameCertificate(before destination, d delivery.Destination) bool {
	return before.HTTP != nil && strings.TrimSpace(before.HTTP.Certificate) == strings.TrimSpace(d.HTTP.Certificate)
}
