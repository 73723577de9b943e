package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
)

// An invalid command line is refused before anything is opened, with a suggestion of what was probably meant and exit code 2.
func TestMistypedCommandLines(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")
	for line, wanted := range map[string]string{
		"srve":                                    `unknown command "srve" for "holdfast": did you mean serve?`,
		"dlq lst":                                 `unknown command "lst" for "holdfast dlq": did you mean list?`,
		"dlq xyzzy":                               `unknown command "xyzzy" for "holdfast dlq" (see`,
		"help xyzzy":                              `unknown command "xyzzy" for "holdfast"`,
		"help dlq lst":                            `did you mean list?`,
		"completion fsh":                          `did you mean fish?`,
		"dlq list --sate open":                    `unknown flag: --sate: did you mean --state?`,
		"dlq list now":                            `expected no argument, got "now"`,
		"dlq show":                                `expected ID, got no argument`,
		"delivery show a":                         `expected EVENT SUBSCRIPTION, got "a"`,
		"dlq discard 7":                           `required flag(s) "reason" not set`,
		"dlq list --state opne":                   `"opne" is unknown: want open, replaying, resolved, exhausted, discarded or all; did you mean open?`,
		"dlq list --class bogus":                  `"bogus" is unknown: want transient, rejected, failed, in_doubt or conflict`,
		"dlq list --step bogus":                   `want start, parse, fetch, persist, upsert, batch, run or deliver`,
		"dlq list --limit 501":                    `use a number from 1 to 500`,
		"dlq list --limit 0":                      `use a number from 1 to 500`,
		"dlq list --since 1h --until 2h":          `invalid --until "20`,
		"dlq list --since 2026-11-28T10:00":       `it has no time zone: use 2026-11-28T10:00:00Z for UTC`,
		"stats --window 1w":                       `invalid --window "1w": use a duration in s, m, h or d (90s, 30m, 1h30m, 7d)`,
		"dlq list --until 2h --since 1h":          `must be later than since, which is 20`,
		"dlq list --since yesterday":              `invalid --since "yesterday": use a duration back from now (90m, 24h, 7d)`,
		"entity show a b c --as-of noon":          `invalid --as-of "noon": use a duration back from now (90m, 24h, 7d)`,
		"dlq cleanup --older-than -5m":            `invalid --older-than "-5m": use a duration back from now (90m, 24h, 7d)`,
		"reconcile --since 2026-13-01":            `invalid --since "2026-13-01": use a duration back from now (90m, 24h, 7d)`,
		"dlq replay --class bogus":                `want transient, rejected, failed, in_doubt or conflict`,
		"dlq replay --step bogus":                 `want start, parse`,
		"dlq replay --rate fast":                  `invalid rate "fast"`,
		"dlq cleanup --older-than=":               `use a time`,
		"recover stripe --target a?b":             `--target: invalid target "a?b": use letters`,
		"replay list --limit 1000":                `use a number from 1 to 500`,
		"replay pose 1":                           `did you mean pause?`,
		"rebuild pose 1":                          `did you mean pause?`,
		"rebuild list --limit 1000":               `use a number from 1 to 500`,
		"entity rebuild --rate fast":              `invalid rate "fast"`,
		"entity rebuild --kin x":                  `unknown flag: --kin: did you mean --kind?`,
		"event list --status bogus":               `want accepted, persisted, processed or dead`,
		"event list --limit 1000":                 `use a number from 1 to 500`,
		"event list --cursor evt_1":               `use the one that the previous page printed`,
		"event list --entity x":                   `--entity "x": use KIND/ID`,
		"error list --phase bogus":                `want receive, parse, fetch, persist, upsert, dead_letter, replay, deliver or upkeep`,
		"error list --class bogus":                `want transient, rejected, failed, in_doubt or conflict`,
		"error list --limit 1000":                 `use a number from 1 to 500`,
		"error list --before 1":                   `unknown flag: --before`,
		"error show x":                            `invalid number "x"`,
		"inbox list --lane bogus":                 `want overflow, bulk, copy or large`,
		"inbox list --limit 1000":                 `use a number from 1 to 500`,
		"dlq list --cursor -1":                    `use the one that the previous page printed`,
		"audit list --action dead_letter.bogus":   `"dead_letter.bogus" is unknown: want dead_letter.replay, dead_letter.fetch, dead_letter.edit`,
		"audit list --action dead_letter.replya":  `did you mean dead_letter.replay?`,
		"error list --source shop-a":              `invalid --source "shop-a": it needs provider`,
		"inbox list --source shop-a":              `invalid --source "shop-a": it needs provider`,
		"dlq replay --cod x":                      `unknown flag: --cod: did you mean --code?`,
		"send strpe":                              `did you mean stripe?`,
		"provider show xyzzy":                     `lists all 1`,
		"provider refusals --operator x":          `--operator "x": use http://`,
		"health --operator x":                     `--operator "x": use http://`,
		"dlq list --code x --source y":            `invalid --source "y": it needs provider`,
		"dlq replay --code x --source y":          `invalid --source "y": it needs provider`,
		"dlq replay":                              `give the ID of a dead letter`,
		"dlq replay --all --type x":               `use either --all or a filter`,
		"token new ada bogus":                     `"bogus" is unknown: want viewer, operator, integrator or admin`,
		"token new a:b viewer":                    `invalid token name "a:b"`,
		"payload-key new a:b":                     `invalid key id`,
		"purge --expunge stripe:evt_1":            `missing --reason`,
		"stats --window 0s":                       `invalid --window "0s": use a duration from 1m to 744h`,
		"audit list --limit 1000":                 `use a number from 1 to 500`,
		"subscription create x":                   `use exactly one of --to, --url and --task-queue`,
		"subscription create x --url a --to b":    `use exactly one of`,
		"subscription create x --to b --rate 5/s": `are for a new destination`,
		"subscription create x --url ftp://a":     `http.url must be a URL with http or https`,
		"subscription create x --task-queue q":    `start or signal or signal_with_start is missing`,
		"subscription apply":                      `required flag(s) "file" not set`,
		"delivery list --status lost":             `want pending, processing, retrying, delivered, failed or canceled`,
		"resend start x":                          `required flag(s) "since" not set`,
		"resend plan x --since 1h --until 2h":     `--since must be before --until`,
		"audit list --since 1h --until 1h0m1s":    `must be later than since`,
	} {
		t.Run(line, func(t *testing.T) {
			out, err := run(t, "", strings.Fields(line)...)
			require.ErrorContains(t, err, wanted)
			require.Equal(t, 2, cli.ExitCode(err))
			require.ErrorContains(t, err, " --help`)")
			require.Empty(t, out)
		})
	}
	require.Equal(t, 1, cli.ExitCode(errors.New("no such thing")))
}

// Help isn't an error, and doesn't get in the way of commands.
func TestHelp(t *testing.T) {
	for _, line := range []string{"", "dlq", "help dlq list", "dlq list --help"} {
		out, err := run(t, "", strings.Fields(line)...)
		require.NoError(t, err, line)
		require.NotEmpty(t, out, line)
	}
}

// Every command that changes something supports JSON.
func TestEveryChangeIsAlike(t *testing.T) {
	var commands func(c *cobra.Command)
	commands = func(c *cobra.Command) {
		if c.Flags().Lookup("reason") != nil {
			require.NotNil(t, c.Flags().Lookup("json"), c.CommandPath())
		}
		for _, below := range c.Commands() {
			commands(below)
		}
	}
	commands(rootCommand())
}

// Every list is bounded and supports JSON.
func TestEveryListIsAlike(t *testing.T) {
	var commands func(c *cobra.Command)
	commands = func(c *cobra.Command) {
		if c.Name() == "list" && c.Flags().Lookup("limit") != nil {
			require.Contains(t, c.Flags().Lookup("limit").Usage, "1 to 500", c.CommandPath())
			require.NotNil(t, c.Flags().Lookup("json"), c.CommandPath())
		}
		for _, below := range c.Commands() {
			commands(below)
		}
	}
	commands(rootCommand())
}
