package main

import "github.com/PaddleHQ/paddle-go-sdk/v4"

func init() {
	add("paddle", library{
		Provider: "paddle",
		Secret:   "pdl_ntfset_01hwebhooks_ofTheTests",
		Verify: func(r request, secret string) error {
			accepted, err := paddle.NewWebhookVerifier(secret).Verify(r.received())
			if err != nil {
				return err
			}
			return unless(accepted)
		},
	})
}
