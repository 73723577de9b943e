package runs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// Temporal Web renders the summary of a run as Markdown: a type that is made for that stays text.
func TestASummaryEscapesMarkdown(t *testing.T) {
	t.Parallel()
	for eventType, want := range map[string]string{
		"":                                 "acme (no type)",
		"customer.updated":                 "acme customer.updated",
		"payment_intent.created:v2":        "acme payment_intent.created:v2",
		"[x](javascript:alert(1))":         `acme \[x\]\(javascript\:alert\(1\)\)`,
		"![x](https://evil.example/a.png)": `acme \!\[x\]\(https\:\/\/evil\.example\/a\.png\)`,
		"<img src=x>":                      `acme \<img src\=x\>`,
		"https://evil.example":             `acme https\:\/\/evil\.example`,
		"www.evil.example":                 `acme www\.evil\.example`,
		"**bold** `code` _it_ &lt; \\":     "acme \\*\\*bold\\*\\* \\`code\\` \\_it\\_ \\&lt\\; \\\\",
		"a b":                              "acme a b",
		"Ereignis-ä":                       `acme Ereignis\-ä`,
	} {
		require.Equal(t, want, summary(event.Receipt{Provider: "acme", Type: eventType}), eventType)
	}
	long := summary(event.Receipt{Provider: strings.Repeat("p", 40), Type: strings.Repeat("[", event.MaxTypeLength)})
	require.LessOrEqual(t, len(long), 400, "Temporal refuses a longer one")
}
