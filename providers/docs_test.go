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

func readDocs(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/" + name)
	require.NoError(t, err)
	return string(page)
}

const cataloguePage = "../docs/catalogue.md"

// The page of the catalogue is written from the catalogue.
func TestCataloguePageIsCurrent(t *testing.T) {
	t.Parallel()
	want := catalogueInWords(catalogueOf(t))
	if *update {
		require.NoError(t, os.WriteFile(cataloguePage, []byte(want), 0o600))
		return
	}
	page, err := os.ReadFile(cataloguePage)
	require.NoError(t, err)
	require.Equal(t, want, string(page), "run go test ./providers -run TestCataloguePage -update")
}

const aboveCatalogue = `# The catalogue

<!-- Written by go test ./providers -run TestCataloguePage -update -->

These %d definitions are built in. Each says what it is made from; the strongest of its sources is its **evidence**:

| Evidence | Means |
|---|---|
| ` + "`vectors`" + ` | The sender has published signatures with their secret. They are authentic here |
| ` + "`library`" + ` | It is as the sender's own library does it |
| ` + "`documentation`" + ` | It is as the sender's documentation has it |
| ` + "`observed`" + ` | It is as somebody has seen it. Compare it with your first requests |

A test holds every definition to requests that it has not signed itself (` + "`providers/testdata/vectors`" + `). It also changes
the secret, the body, each signed header, the time and the algorithm, and demands a refusal each time.

A provider without a secret is closed: nobody is authentic. Its secret stands in the variable, or in the file that the variable
with ` + "`_FILE`" + ` behind its name leads to.

`

func catalogueInWords(c *Catalogue) string {
	var b strings.Builder
	fmt.Fprintf(&b, aboveCatalogue, len(c.Names()))
	b.WriteString("| Provider | Evidence | Scheme | Secrets |\n|---|---|---|---|\n")
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | `%s` |\n", name, name, p.Evidence(), strings.Join(p.Schemes(), "; "),
			strings.Join(p.SecretNames(), "`, `"))
	}
	for _, name := range c.Names() {
		p, _ := c.Lookup(name)
		writeEntry(&b, p)
	}
	return b.String()
}

// writeEntry is the section of one provider.
func writeEntry(b *strings.Builder, p *Provider) {
	d := p.Written()
	fmt.Fprintf(b, "\n## %s\n\n%s. Key: %s. Duplicate for %s. Priority %s.\n\n", p.Name(), p.Title(), keyInWords(d), windowInWords(p),
		priorityInWords(d))
	for _, source := range d.Sources {
		for _, e := range definition.Evidences {
			if text := e.Of(source); text != "" {
				fmt.Fprintf(b, "- %s: %s\n", strings.ToUpper(string(e[:1]))+string(e[1:]), linked(text))
			}
		}
	}
	b.WriteString("\n| | |\n|---|---|\n")
	for _, reason := range []struct{ of, text string }{
		{"Why this key", d.Why.Key}, {"A retry", d.Why.Retry}, {"Sent again by hand", d.Why.Resend},
		{"A second subscription", d.Why.Second}, {"The wrong key", d.Why.Wrong}, {"IDs", d.Why.Scope}, {"Order", d.Why.Order},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", reason.of, strings.ReplaceAll(reason.text, "|", `\|`))
	}
}

func linked(text string) string {
	if strings.HasPrefix(text, "https://") {
		return "<" + text + ">"
	}
	return text
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

// The pages have the numbers that bound things here.
func TestPagesNameLimits(t *testing.T) {
	t.Parallel()
	require.Regexp(t, fmt.Sprintf(`(?m)^\| Reply of a handshake.* \| %d`, maxChallengeReply), readDocs(t, "expressions.md"))
	require.Contains(t, readDocs(t, "providers.md"), fmt.Sprintf("at most %d", maxBodyLimit))
}
