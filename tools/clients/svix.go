package main

import (
	"strconv"
	"time"

	svix "github.com/svix/svix-webhooks/go"
)

func init() {
	add("svix", library{
		Provider: "svix",
		Secret:   "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
		Sign: func(r request, secret string, at time.Time) (map[string]string, error) {
			webhook, err := svix.NewWebhook(secret)
			if err != nil {
				return nil, err
			}
			signature, err := webhook.Sign(r.Headers["svix-id"], at, []byte(r.Body))
			return map[string]string{"svix-timestamp": strconv.FormatInt(at.Unix(), 10), "svix-signature": signature}, err
		},
		Verify: func(r request, secret string) error {
			webhook, err := svix.NewWebhook(secret)
			if err != nil {
				return err
			}
			return webhook.Verify([]byte(r.Body), r.header())
		},
	})
}
