package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// quoted matches inline code, fenced a block of commands.
	quoted = regexp.MustCompile("`(?:bin/)?(holdfast [^`]+)`")
	fenced = regexp.MustCompile("(?s)```sh\n(.*?)```")
	typed  = regexp.MustCompile(`(?m)(?:^|[ /(])holdfast ([a-z][^#\n]*)`)
	word   = regexp.MustCompile(`^[a-z][a-z-]*$`)
	option = regexp.MustCompile(`(?:^|[\s\[])--?([a-z][a-z-]*)`)

	// renamed matches a table of former names; former the first cell of a row.
	renamed = regexp.MustCompile(`(?m)^\| Before \|.*\n(?:\|.*\n)*`)
	former  = regexp.MustCompile(`(?m)^\|[^|]*\|`)
)

// commandLines returns the commands in a page, each after the program's name. Former names are left out.
func commandLines(page string) (lines []string) {
	page = renamed.ReplaceAllStringFunc(page, func(table string) string { return former.ReplaceAllString(table, "|") })
	for _, found := range quoted.FindAllStringSubmatch(page, -1) {
		lines = append(lines, strings.TrimPrefix(strings.ReplaceAll(found[1], "\n", " "), "holdfast "))
	}
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		for _, found := range typed.FindAllStringSubmatch(strings.ReplaceAll(block[1], "\\\n", " "), -1) {
			lines = append(lines, found[1])
		}
	}
	return lines
}

// Every command and every flag that a page names exists, under its current name.
func TestPagesNameCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	seen := 0
	for _, name := range append(pages, "../../README.md", "../../CHANGELOG.md") {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, line := range commandLines(string(page)) {
			c := rootCommand()
			for _, w := range strings.Fields(line) {
				w, _, _ = strings.Cut(w, "|")
				if !c.HasSubCommands() || !word.MatchString(w) {
					break
				}
				below, _, err := c.Find([]string{w})
				if (err != nil || below.Name() != w) && strings.Contains(c.Use, " ") {
					break // an argument, as in recover PROVIDER
				}
				if err != nil || below.Name() != w {
					assert.Fail(t, "no such command", "%s: holdfast %s: %s", name, line, w)
					break
				}
				c = below
			}
			c.InitDefaultHelpFlag()
			line, _, _ = strings.Cut(line, " | ")
			for _, found := range option.FindAllStringSubmatch(line, -1) {
				flag := c.Flag(found[1])
				if len(found[1]) == 1 {
					flag = c.Flags().ShorthandLookup(found[1])
				}
				if assert.NotNil(t, flag, "%s: holdfast %s: %s", name, line, found[0]) && len(found[1]) > 1 {
					assert.Equal(t, flag.Name, found[1], "%s: holdfast %s", name, line)
				}
			}
			seen++
		}
	}
	require.Greater(t, seen, 200)
}
