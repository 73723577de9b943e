package main

import "github.com/go-playground/webhooks/v6/gitea"

func init() {
	add("gitea", library{
		Provider: "forgejo",
		Secret:   "the secret of the tests",
		Verify: func(r request, secret string) error {
			hook, err := gitea.New(gitea.Options.Secret(secret))
			if err != nil {
				return err
			}
			_, err = hook.Parse(r.received(), gitea.Event(r.Headers["x-gitea-event"]))
			return err
		},
	})
}
