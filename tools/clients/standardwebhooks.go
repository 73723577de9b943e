package main

import (
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func init() {
	add("standardwebhooks", library{
		Provider: "standard-webhooks",
		Secret:   "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
		Sign: func(r request, secret string, at time.Time) (map[string]string, error) {
			webhook, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				return nil, err
			}
			signature, err := webhook.Sign(r.Headers["webhook-id"], at, []byte(r.Body))
			return map[string]string{"webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": signature}, err
		},
		Verify: func(r request, secret string) error {
			webhook, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				return err
			}
			return webhook.Verify([]byte(r.Body), r.header())
		},
	})
}
