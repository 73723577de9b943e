package main

import (
	"net/url"

	"github.com/twilio/twilio-go/client"
)

func init() {
	add("twilio", library{
		Provider: "twilio",
		Secret:   "12345678901234567890123456789012",
		// The fields of a form are signed one by one; any other body by its hash in the URL.
		Verify: func(r request, secret string) error {
			validator := client.NewRequestValidator(secret)
			if r.Headers["content-type"] != "application/x-www-form-urlencoded" {
				return unless(validator.ValidateBody(r.URL, []byte(r.Body), r.Headers["x-twilio-signature"]))
			}
			form, err := url.ParseQuery(r.Body)
			if err != nil {
				return err
			}
			fields := map[string]string{}
			for name := range form {
				fields[name] = form.Get(name)
			}
			return unless(validator.Validate(r.URL, fields, r.Headers["x-twilio-signature"]))
		},
	})
}
