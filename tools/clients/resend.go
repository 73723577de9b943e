package main

import "github.com/resend/resend-go/v3"

func init() {
	add("resend", library{
		Provider: "resend",
		Secret:   "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
		Verify: func(r request, secret string) error {
			return resend.NewClient("unused").Webhooks.Verify(&resend.VerifyWebhookOptions{
				Payload: r.Body, WebhookSecret: secret, Headers: resend.WebhookHeaders{
					Id: r.Headers["svix-id"], Timestamp: r.Headers["svix-timestamp"], Signature: r.Headers["svix-signature"],
				},
			})
		},
	})
}
