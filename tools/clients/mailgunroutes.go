package main

import "github.com/mailgun/mailgun-go/v4"

func init() {
	add("mailgunroutes", library{
		Provider: "mailgun-routes",
		Secret:   "key-of-the-tests",
		Covered:  "nonce", // a time and a token are signed, and none of the mail
		Verify: func(r request, secret string) error {
			got := r.received()
			return verifyMailgun(secret, mailgun.Signature{
				TimeStamp: got.FormValue("timestamp"), Token: got.FormValue("token"), Signature: got.FormValue("signature"),
			})
		},
	})
}
