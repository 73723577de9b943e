package main

import (
	"time"

	"github.com/stripe/stripe-go/v85/webhook"
	_ "github.com/stripe/stripe-mock/embedded" // its module has Stripe's OpenAPI document, which e2e/clients reads
)

func init() {
	add("stripe", library{
		Provider: "stripe",
		Secret:   "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
		Sign: func(r request, secret string, at time.Time) (map[string]string, error) {
			signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(r.Body), Secret: secret, Timestamp: at})
			return map[string]string{"stripe-signature": signed.Header}, nil
		},
		Verify: func(r request, secret string) error {
			return webhook.ValidatePayload([]byte(r.Body), r.Headers["stripe-signature"], secret)
		},
	})
}
