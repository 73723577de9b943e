package main

import "github.com/buildkite/go-buildkite/v4"

func init() {
	add("buildkite", library{
		Provider: "buildkite",
		Secret:   "the token of the tests",
		Verify: func(r request, secret string) error {
			_, err := buildkite.ValidatePayload(r.received(), []byte(secret))
			return err
		},
	})
}
