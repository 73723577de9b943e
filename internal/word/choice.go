package word

import (
	"fmt"
	"slices"
	"strings"
)

// Choose gives the value that a text names, out of all there are. An empty text names none. The error is a *ChoiceError.
func Choose[T ~string](text string, all []T) (T, error) {
	if text == "" || slices.Contains(all, T(text)) {
		return T(text), nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return "", &ChoiceError{Text: text, Wanted: names}
}

// ChoiceError says that a text is none of a closed set of values.
type ChoiceError struct {
	Text   string
	Wanted []string
}

// Error names the text, the values that there are, and the one that was probably meant.
func (e *ChoiceError) Error() string {
	return fmt.Sprintf("%q is unknown: %s", shortText(e.Text), e.Advice())
}

// Advice is Error without the text, which may be anything that somebody has sent.
func (e *ChoiceError) Advice() string {
	text := "want " + Alternatives(e.Wanted)
	if near := Nearest(e.Text, e.Wanted); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

func shortText(s string) string {
	const most = 50
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Alternatives is "a, b or c".
func Alternatives[T ~string](all []T) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Nearest is the name that was probably meant by a text: one that it begins, or the one that takes the fewest changes of letters
// to get to; "" if nothing is near.
func Nearest(text string, names []string) string {
	text = strings.ToLower(text)
	best, least := "", min(len(text)/3+2, 4) // that many changes make another word
	for _, name := range names {
		if len(text) > 1 && strings.HasPrefix(strings.ToLower(name), text) {
			return name
		}
		if n := Distance(text, strings.ToLower(name)); n < least {
			best, least = name, n
		}
	}
	return best
}

// Distance is that of Levenshtein, in bytes. Names are short; of a long text no more counts than could be near.
func Distance(a, b string) int {
	const most = 100
	a = a[:min(len(a), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
