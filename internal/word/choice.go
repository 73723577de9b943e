package word

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Choose returns the value that a text names, out of all. An empty text names none. The error is a *ChoiceError.
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

// ChoiceError reports a text that isn't one of a closed set of values.
type ChoiceError struct {
	Text   string
	Wanted []string
}

// Error returns the text, the valid values, and the one that was probably meant.
func (e *ChoiceError) Error() string {
	return fmt.Sprintf("%q is unknown: %s", shortText(e.Text), e.Advice())
}

// Advice is Error without the text, which comes from a client.
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

// Alternatives formats a list as "a, b or c".
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

// Nearest returns the name that a text probably means: one that it begins, or the one with the smallest edit distance; "" if
// nothing is near.
func Nearest(text string, names []string) string {
	text = strings.ToLower(text)
	best, least := "", min(len(text)/3+2, 4) // more changes make another word
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

// NearestOf returns up to n of the names, those that a text most probably means first: names that it begins, then the others by
// edit distance.
func NearestOf(text string, names []string, n int) []string {
	text = strings.ToLower(text)
	far := map[string]int{}
	for _, name := range names {
		far[name] = Distance(text, strings.ToLower(name))
		if len(text) > 1 && strings.HasPrefix(strings.ToLower(name), text) {
			far[name] = 0
		}
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	return sorted[:min(n, len(sorted))]
}

// Distance returns the Levenshtein distance, in bytes. Names are short; only the first 100 bytes of a long text count.
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
