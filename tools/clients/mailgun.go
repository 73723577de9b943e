package main

import (
	"encoding/json"

	"github.com/mailgun/mailgun-go/v4"
)

func init() {
	add("mailgun", library{
		Provider: "mailgun",
		Secret:   "key-of-the-tests",
		Covered:  "nonce", // a time and a token are signed, and none of the event
		Verify: func(r request, secret string) error {
			var body struct {
				Signature mailgun.Signature `json:"signature"`
			}
			if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
				return err
			}
			return verifyMailgun(secret, body.Signature)
		},
	})
}

func verifyMailgun(key string, s mailgun.Signature) error {
	client := mailgun.NewMailgun("example.com", "unused")
	client.SetWebhookSigningKey(key)
	accepted, err := client.VerifyWebhookSignature(s)
	if err != nil {
		return err
	}
	return unless(accepted)
}
