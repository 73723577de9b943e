package runs

import (
	"regexp"
	"strings"

	"holdfast/event"
)

// maxSummaryType is how much of an unusual type a summary shows, in bytes: Temporal takes 400 for all of it, and escapes
// double it.
const maxSummaryType = 150

// plainType is a type that Markdown shows as it is: words with one sign between them.
var plainType = regexp.MustCompile(`^[A-Za-z0-9]+([._:-][A-Za-z0-9]+)*$`)

// summary is the line that Temporal Web shows for the run, as Markdown. The type is the sender's: as it is, it could be a link
// or an image.
func summary(r event.Receipt) string {
	switch {
	case r.Type == "":
		return r.Provider + " (no type)"
	case plainType.MatchString(r.Type) && !strings.HasPrefix(strings.ToLower(r.Type), "www"):
		return r.Provider + " " + r.Type
	}
	return r.Provider + " " + escapeMarkdown(r.Type)
}

// escapeMarkdown puts a backslash before every sign that can have a meaning.
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
