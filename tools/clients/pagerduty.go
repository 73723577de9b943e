package main

import "github.com/PagerDuty/go-pagerduty/webhookv3"

func init() {
	add("pagerduty", library{
		Provider: "pagerduty",
		Secret:   "the secret of the tests",
		Verify:   func(r request, secret string) error { return webhookv3.VerifySignature(r.received(), secret) },
	})
}
