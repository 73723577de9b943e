package main

import "github.com/razorpay/razorpay-go/utils"

func init() {
	add("razorpay", library{
		Provider: "razorpay",
		Secret:   "the secret of the tests",
		Verify: func(r request, secret string) error {
			return unless(utils.VerifyWebhookSignature(r.Body, r.Headers["x-razorpay-signature"], secret))
		},
	})
}
