package manual

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Found is a section that has all words of a search.
type Found struct {
	// Name is that of the page or the part, and Page the page's title. Heading and ID are the section's, "" for the beginning of the
	// page; the ID is also "" for the beginning of a part.
	Name, Page, Heading, ID string
	// Line is the first line with one of the words; "" if only headings have them.
	Line string

	rank int
}

// MaxFound is how many sections a search returns.
const MaxFound = 40

// Search returns the sections that have all words, those with the words in their headings first.
func Search(query string) (found []Found) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	all := sources()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		found = append(found, searchPage(name, all[name], words)...)
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.rank, a.rank) })
	return found[:min(len(found), MaxFound)]
}

func searchPage(name, source string, words []string) (all []Found) {
	at := Found{Name: name}
	for _, s := range sectionsOf(source) {
		switch s.level {
		case 0:
			continue // a comment for those who edit the page
		case 1:
			at.Page = s.heading
		default:
			at.Heading = s.heading
			at.Name, at.ID = locate(name, s.id())
		}
		_, text, _ := strings.Cut(s.source, "\n")
		if found, ok := match(at, strings.Split(text, "\n"), words); ok {
			all = append(all, found)
		}
	}
	return all
}

// match reports whether a section has all words in its title, its heading or its lines.
func match(at Found, lines, words []string) (Found, bool) {
	heading := strings.ToLower(at.Page + " " + at.Heading)
	body := strings.ToLower(strings.Join(lines, "\n"))
	for _, word := range words {
		switch {
		case strings.Contains(strings.ToLower(at.Heading), word):
			at.rank += 2
		case strings.Contains(heading, word):
			at.rank++
		case !strings.Contains(body, word):
			return at, false
		}
	}
	for _, line := range lines {
		text := strings.ToLower(line)
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
			at.Line = strings.TrimSpace(line)
			break
		}
	}
	return at, true
}
