package main

import "github.com/sendgrid/sendgrid-go/helpers/inbound"

func init() {
	add("sendgridinbound", library{
		Provider:      "sendgrid-inbound",
		Secret:        sendGridKey,
		SigningSecret: sendGridSigningKey,
		Verify: func(r request, secret string) error {
			if err := verifySendGrid(r, secret); err != nil {
				return err
			}
			_, err := inbound.Parse(r.received())
			return err
		},
	})
}
