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
	typed  = regexp.MustCompile(`holdfast-bench ([a-z-]+)([^` + "`" + `#\n]*)`)
	option = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// Every command and every flag that a page names exists.
func TestPagesNameCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	seen := 0
	for _, name := range pages {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range typed.FindAllStringSubmatch(strings.ReplaceAll(string(page), "\\\n", " "), -1) {
			c, _, err := rootCommand().Find(found[1:2])
			if !assert.NoError(t, err, "%s: %s", name, found[0]) {
				continue
			}
			for _, flag := range option.FindAllStringSubmatch(found[2], -1) {
				assert.NotNil(t, c.Flag(flag[1]), "%s: %s: %s", name, found[0], flag[1])
			}
			seen++
		}
	}
	require.Greater(t, seen, 10)
}
