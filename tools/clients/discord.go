package main

import (
	"encoding/hex"

	"github.com/bwmarrin/discordgo"
)

func init() {
	add("discord", library{
		Provider:      "discord",
		Secret:        "1d3ff0e448d7d8490758cdd3cf1aa8f80ed4b5d240239cb39fd39c84820e117d",
		SigningSecret: "whsk_lN4tfwDZRvLcDetoCkCGyLwTzWinRvRT8TGkOZf+zOs=",
		Verify: func(r request, secret string) error {
			key, err := hex.DecodeString(secret)
			if err != nil {
				return err
			}
			return unless(discordgo.VerifyInteraction(r.received(), key))
		},
	})
}
