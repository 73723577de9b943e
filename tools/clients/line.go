package main

import "github.com/line/line-bot-sdk-go/v8/linebot/webhook"

func init() {
	add("line", library{
		Provider: "line",
		Secret:   "the secret of the tests",
		Verify: func(r request, secret string) error {
			return unless(webhook.ValidateSignature(secret, r.Headers["x-line-signature"], []byte(r.Body)))
		},
	})
}
