package runs

import (
	"regexp"
	"strings"

	"holdfast/event"
)

// maxSummaryType bounds an unusual type in a summary, in bytes: Temporal's limit is 400, and escaping doubles the length.
const maxSummaryType = 150

// plainType matches types without Markdown syntax.
var plainType = regexp.MustCompile(`^[A-Za-z0-9]+([._:-][A-Za-z0-9]+)*$`)

// summary returns the Markdown summary that Temporal Web shows for the run. The type comes from the sender: unescaped, it could
// be a link or an image.
func summary(r event.Receipt) string {
	switch {
	case r.Type == "":
		return r.Provider + " (no type)"
	case plainType.MatchString(r.Type) && !strings.HasPrefix(strings.ToLower(r.Type), "www"):
		return r.Provider + " " + r.Type
	}
	return r.Provider + " " + escapeMarkdown(r.Type)
}

func escapeMarkdown(text string) string {
	if len(text) > maxSummaryType {
		text = strings.ToValidUTF8(text[:maxSummaryType-len("…")], "") + "…"
	}
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
