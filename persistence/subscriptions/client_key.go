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
	link := d.Link()
	if link == nil || !link.StoresKey() {
		return nil, len(was) == 0, nil
	}
	if link.Key == delivery.MaskedHeader {
		if len(was) == 0 || !sameCertificate(*before, d) {
			return nil, false, event.Rejectf("invalid_destination",
				"%s.key: give the key of this certificate; the stored one belongs to another, or there is none", d.Kind())
		}
		return was, true, nil
	}
	if key, unread := s.openKey(was); unread == nil && key == link.Key {
		return was, true, nil
	}
	sealed, err = s.seal(clientKey{link.Key})
	return sealed, false, err
}

// sameCertificate ignores the white space around it, which forms and files change.
func sameCertificate(before destination, d delivery.Destination) bool {
	was := before.Link()
	return was != nil && strings.TrimSpace(was.Certificate) == strings.TrimSpace(d.Link().Certificate)
}
