package main

import "github.com/slack-go/slack"

func init() {
	add("slack", library{
		Provider: "slack",
		Secret:   "8f742231b10e8888abcd99yyyzzz85a5",
		Verify: func(r request, secret string) error {
			verifier, err := slack.NewSecretsVerifier(r.header(), secret)
			if err != nil {
				return err
			}
			if _, err := verifier.Write([]byte(r.Body)); err != nil {
				return err
			}
			return verifier.Ensure()
		},
	})
}
