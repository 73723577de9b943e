package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eachCommand calls look for every visible command of the tree.
func eachCommand(look func(c *cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		look(c)
		for _, below := range c.Commands() {
			if !below.Hidden {
				walk(below)
			}
		}
	}
	walk(rootCommand())
}

// Every help text has an example and fits 80 columns.
func TestEveryHelpHasAnExampleAndFits(t *testing.T) {
	t.Parallel()
	eachCommand(func(c *cobra.Command) {
		assert.Contains(t, c.Example, "holdfast", c.CommandPath())
		if c.HasParent() && c.Parent().Name() == "completion" {
			return // cobra generates it
		}
		help, err := run(t, "", append(strings.Fields(c.CommandPath())[1:], "--help")...)
		require.NoError(t, err, c.CommandPath())
		for line := range strings.Lines(help) {
			assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80, "%s: %s", c.CommandPath(), line)
		}
	})
}

// Every example is a valid command line: its command, number of arguments and flags exist.
func TestEveryExampleCanBeTyped(t *testing.T) {
	t.Parallel()
	seen := 0
	eachCommand(func(c *cobra.Command) {
		for _, line := range strings.Split(strings.ReplaceAll(c.Example, "\\\n", " "), "\n") {
			words := wordsOf(line)
			if len(words) < 2 || words[0] != "holdfast" || strings.Contains(line, "|c") {
				continue
			}
			root := rootCommand()
			typed, rest, err := root.Find(words[1:])
			require.NoError(t, err, line)
			typed.DisableFlagParsing = false
			require.NoError(t, typed.ParseFlags(rest), line)
			if typed.Args != nil {
				require.NoError(t, typed.Args(typed, typed.Flags().Args()), line)
			}
			require.True(t, typed.Runnable(), line)
			seen++
		}
	})
	require.Greater(t, seen, 80)
}

var wordPattern = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// wordsOf splits a line as a shell does, up to the next command or a comment.
func wordsOf(line string) (words []string) {
	for _, word := range wordPattern.FindAllString(line, -1) {
		if word == "|" || word == "#" || word == ">" || word == "<" {
			break
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}

// meaning matches a usage text up to its details.
var meaning = regexp.MustCompile(`^[^(:;]*`)

// A flag has the same meaning and the same usage text in every command.
func TestAFlagHasOneMeaning(t *testing.T) {
	t.Parallel()
	means := map[string]map[string][]string{}
	eachCommand(func(c *cobra.Command) {
		if c.Name() == "help" || c.HasParent() && c.Parent().Name() == "completion" {
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			text := strings.TrimSpace(meaning.FindString(f.Usage))
			if means[f.Name] == nil {
				means[f.Name] = map[string][]string{}
			}
			means[f.Name][text] = append(means[f.Name][text], c.CommandPath())
		})
	})
	require.Greater(t, len(means), 60)
	for name, texts := range means {
		if name != "help" {
			assert.Len(t, texts, 1, "--%s means %v", name, slices.Collect(maps.Keys(texts)))
		}
	}
}

// Every command supports --json, except those that run until stopped or write a file for another program.
func TestAllAnswersAreJSON(t *testing.T) {
	t.Parallel()
	others := []string{
		"holdfast dev", "holdfast serve", "holdfast ingress", "holdfast worker", "holdfast operator", "holdfast migrate",
		"holdfast listen", "holdfast help", "holdfast mcp", "holdfast provider new", "holdfast event body",
	}
	eachCommand(func(c *cobra.Command) {
		if !c.HasParent() || c.HasSubCommands() || c.Parent().Name() == "completion" {
			return
		}
		assert.Equal(t, !slices.Contains(others, c.CommandPath()), c.Flags().Lookup("json") != nil, c.CommandPath())
	})
}

// Nouns with individual objects have list and show.
func TestNounsAreListedAndShown(t *testing.T) {
	t.Parallel()
	for _, noun := range []string{
		"event", "entity", "error", "dlq", "replay", "rebuild", "resend", "inbox", "delivery", "destination", "subscription",
		"provider",
	} {
		for _, verb := range []string{"list", "show"} {
			c, _, err := rootCommand().Find([]string{noun, verb})
			require.NoError(t, err)
			require.Equal(t, verb, c.Name(), noun)
		}
	}
}

// The shell can complete every argument, or it is free text.
func TestTheShellCompletes(t *testing.T) {
	for line, wanted := range map[string]string{
		"send str":                   "stripe\t",
		"send stripe customer.u":     "customer.updated",
		"provider show gocar":        "gocardless\t",
		"dlq list --state ":          "exhausted",
		"dlq list --class ":          "rejected",
		"event list --provider str":  "stripe\t",
		"token new ada ":             "integrator",
		"error list --phase ":        "upkeep",
		"subscription create x --to": "",
	} {
		t.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")
		out, err := run(t, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.NoError(t, err, line)
		require.Contains(t, out, wanted, line)
	}
}
