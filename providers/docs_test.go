package providers

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/definition"
)

const docsPage = "../docs/providers.md"

func readDocs(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(docsPage)
	require.NoError(t, err)
	return string(page)
}

// The table of the catalogue is written from the catalogue.
func TestCataloguePageIsCurrent(t *testing.T) {
	t.Parallel()
	page := readDocs(t)
	head, rest, ok := strings.Cut(page, "-update -->\n")
	require.True(t, ok)
	table, tail, ok := strings.Cut(rest, "<!-- /catalogue -->")
	require.True(t, ok)
	want := catalogueTable(catalogueOf(t))
	if *update {
		require.NoError(t, os.WriteFile(docsPage, []byte(head+"-update -->\n"+want+"<!-- /catalogue -->"+tail), 0o600))
		return
	}
	require.Equal(t, want, table, "run go test ./providers -run TestCataloguePage -update")
}

func catalogueTable(c *Catalogue) string {
	var b strings.Builder
	b.WriteString("\n| Provider | Scheme | Secrets | Key | Window | Priority |\n|---|---|---|---|---|---|\n")
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s |\n", name, strings.Join(p.Schemes(), "; "),
			strings.Join(p.SecretNames(), "`, `"), keyInWords(p.Written()), windowInWords(p), priorityInWords(p.Written()))
	}
	b.WriteString("\n")
	return b.String()
}

func keyInWords(d *definition.Definition) string {
	var parts []string
	hashed := false
	for _, part := range d.Key.Parts {
		if part.Expr == "body_sha256" {
			hashed = true
			parts = append(parts, "the body's hash")
			continue
		}
		text := "`" + strings.ReplaceAll(strings.Join(strings.Fields(string(part.Expr)), " "), "|", `\|`) + "`"
		if part.Optional {
			text += "?"
		}
		parts = append(parts, text)
	}
	words := strings.Join(parts, " : ")
	switch {
	case hashed || d.Key.Fallback == "":
	case len(parts) > 0:
		words += ", or the body's hash"
	default:
		words = "the body's hash"
	}
	if slices.ContainsFunc(d.Overrides, func(o definition.Override) bool { return o.Key != nil }) {
		words += "; some types have their own"
	}
	return words
}

func windowInWords(p *Provider) string {
	words := windowOf(int64(p.DedupeWindow("")))
	if d := p.Written(); d.Key.Fallback != "" {
		window := int64(15 * 60e9)
		if d.Key.FallbackWindow != nil {
			window = int64(*d.Key.FallbackWindow)
		}
		words += "; by hash " + windowOf(window)
	}
	return words
}

func windowOf(d int64) string {
	const minute, hour, day = int64(60e9), int64(3600e9), int64(24 * 3600e9)
	switch {
	case d == 0:
		return "for ever"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%hour == 0:
		return fmt.Sprintf("%dh", d/hour)
	}
	return fmt.Sprintf("%dm", d/minute)
}

func priorityInWords(d *definition.Definition) string {
	base := cmp.Or(d.Priority, string(event.PriorityNormal))
	words := base
	for _, o := range d.Overrides {
		if o.Priority != "" && o.Priority != base {
			words += "; " + o.Priority + ": `" + strings.Join(o.Types, "`, `") + "`"
		}
	}
	return words
}

// The page has the numbers that bound things here.
func TestPageNamesLimits(t *testing.T) {
	t.Parallel()
	require.Regexp(t, fmt.Sprintf(`(?m)^\| Reply of a handshake.* \| %d`, maxChallengeReply), readDocs(t))
	require.Contains(t, readDocs(t), fmt.Sprintf("at most %d", maxBodyLimit))
}
