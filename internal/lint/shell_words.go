package lint

import (
	"errors"
	"strconv"
	"strings"
)

var errQuote = errors.New("a quote in the command is not closed")

// shellWords splits a command as a shell would: '…', "…", $'…' and backslashes. Nothing is expanded.
func shellWords(text string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for len(text) > 0 {
		var part string
		var size int
		switch {
		case strings.HasPrefix(text, "\\\n"):
			text = text[2:]
			continue
		case text[0] == ' ' || text[0] == '\t' || text[0] == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord, text = false, text[1:]
			continue
		default:
			if part, size, err = shellPart(text); err != nil {
				return nil, err
			}
		}
		word.WriteString(part)
		inWord, text = true, text[size:]
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// shellPart returns the meaning of the beginning of a text, and its length.
func shellPart(text string) (part string, size int, err error) {
	switch {
	case strings.HasPrefix(text, "$'"):
		part, size, err = quoted(text[2:], '\'', escapeOfC)
		return part, size + 2, err
	case text[0] == '\'':
		part, size, err = quoted(text[1:], '\'', nil)
		return part, size + 1, err
	case text[0] == '"':
		part, size, err = quoted(text[1:], '"', escapeInQuotes)
		return part, size + 1, err
	case text[0] == '\\' && len(text) > 1:
		return text[1:2], 2, nil
	}
	return text[:1], 1, nil
}

// quoted reads up to the closing quote, which size includes. unescape is nil if a backslash is literal.
func quoted(text string, quote byte, unescape func(string) (string, int)) (part string, size int, err error) {
	var out strings.Builder
	for size < len(text) {
		switch {
		case text[size] == quote:
			return out.String(), size + 1, nil
		case text[size] == '\\' && unescape != nil && size+1 < len(text):
			one, n := unescape(text[size:])
			out.WriteString(one)
			size += n
		default:
			out.WriteByte(text[size])
			size++
		}
	}
	return "", 0, errQuote
}

// escapeInQuotes unescapes within double quotes.
func escapeInQuotes(text string) (string, int) {
	switch text[1] {
	case '"', '\\', '$', '`':
		return text[1:2], 2
	case '\n':
		return "", 2
	}
	return text[:2], 2
}

// escapeOfC matches the escapes within $'…', which browsers write when they copy a command.
func escapeOfC(text string) (string, int) {
	const plain = "nrt\\'\"abfv"
	if i := strings.IndexByte(plain, text[1]); i >= 0 {
		return "\n\r\t\\'\"\a\b\f\v"[i : i+1], 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	end := 2
	for end < len(text) && end < 2+digits && strings.IndexByte("0123456789abcdefABCDEF", text[end]) >= 0 {
		end++
	}
	n, err := strconv.ParseUint(text[2:end], 16, 32)
	switch {
	case err != nil:
		return text[:2], 2
	case text[1] == 'x':
		return string([]byte{byte(n)}), end
	}
	return string(rune(n)), end
}
