package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"
)

// maker makes messages: several providers, few entities with many events each, out of order.
type maker struct {
	rng  *rand.Rand
	run  string
	made int
}

const entities = 12

// next returns a new event.
func (k *maker) next() message {
	k.made++
	id, n := fmt.Sprintf("evt_%s_%d", k.run, k.made), k.rng.IntN(entities)
	at := time.Now().Add(-time.Duration(k.rng.IntN(900)) * time.Second)
	switch dice := k.rng.IntN(100); {
	case dice < 1:
		return poison(id)
	case dice < 2:
		return badEntity(id)
	case dice < 50:
		return k.snapshot(id, n, at)
	case dice < 70:
		return patch(id, n, at, k.rng)
	case dice < 85:
		return contact(id, n, at)
	default:
		return issue(id, n, at)
	}
}

// snapshot returns a Stripe event: the state of a customer, and a mention of an account.
func (k *maker) snapshot(id string, n int, at time.Time) message {
	return message{provider: "stripe", key: id, body: fmt.Appendf(nil, `{
  "id": %q, "object": "event", "created": %d, "type": "customer.updated", "account": "acct_%s",
  "data": {"object": {"id": "cus_%s_%d", "object": "customer", "name": "%s %s", "balance": 12345678901234567890}}
}`, id, at.Unix(), k.run, k.run, n, canary, id)}
}

// patch changes one of three fields of an order, or deletes it.
func patch(id string, n int, at time.Time, rng *rand.Rand) message {
	kind := "order.updated"
	if rng.IntN(8) == 0 {
		kind = "order.deleted"
	}
	return message{provider: "hmac", key: id, body: fmt.Appendf(nil,
		`{"id":%q,"type":%q,"timestamp":%q,"data":{"id":"order_%d","field_%d":"%s %s"}}`,
		id, kind, at.UTC().Format(time.RFC3339Nano), n, rng.IntN(3), canary, id)}
}

func contact(id string, n int, at time.Time) message {
	return message{provider: "standard-webhooks", key: id, body: fmt.Appendf(nil,
		`{"type":"contact.updated","timestamp":%q,"data":{"id":"contact_%d","name":"%s %s"}}`,
		at.UTC().Format(time.RFC3339Nano), n, canary, id)}
}

// issue returns the delivery and its body for a key: GitHub signs only the body.
func issue(id string, n int, at time.Time) message {
	body := fmt.Appendf(nil,
		`{"action":"edited","issue":{"id":%d,"number":%d,"title":"%s %s","state":"open","updated_at":%q},
"repository":{"id":186,"full_name":"acme/app"}}`, 1000+n, n, canary, id, at.UTC().Format(time.RFC3339))
	sum := sha256.Sum256(body)
	return message{
		provider: "github", key: id + ":" + hex.EncodeToString(sum[:]), body: body,
		header: map[string]string{"X-Github-Event": "issues", "X-Github-Delivery": id},
	}
}

// poison is signed but isn't JSON.
func poison(id string) message {
	return message{provider: "standard-webhooks", key: id, poison: true, body: []byte("{" + canary + " signed, but no JSON")}
}

// badEntity is JSON that violates the contract: no entity has such an ID.
func badEntity(id string) message {
	return message{provider: "hmac", key: id, poison: true, body: fmt.Appendf(nil,
		`{"id":%q,"type":"order.updated","data":{"id":"a\u0007b","name":"%s"}}`, id, canary)}
}
