package httpapi

import (
	"net/url"
	"strings"
)

// PathSegment escapes text as a segment of a path. Browsers and curl shorten a path with the segments "." and "..", even if these
// are percent-encoded. They are therefore encoded twice, and PathText decodes them twice.
func PathSegment(text string) string {
	if isDots(text) {
		text = strings.ReplaceAll(url.PathEscape(text), ".", "%2E")
	}
	return url.PathEscape(text)
}

// isDots reports whether text is "." or "..", encoded any number of times.
func isDots(text string) bool {
	for {
		if text == "." || text == ".." {
			return true
		}
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			return false
		}
		text = plain
	}
}
