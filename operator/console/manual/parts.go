package manual

import (
	"io/fs"
	"strings"
	"sync"

	"holdfast/docs"
)

// maxWhole is in bytes of Markdown. Pages of that size have well below 100 kB of HTML, which is the console's limit.
const maxWhole = 50_000

// section is a heading with what follows it, up to the next heading.
type section struct {
	// level is 0 for what precedes the first heading.
	level   int
	heading string
	// source begins with the line of the heading.
	source string
}

func (s section) id() string { return slug(s.heading) }

// sectionsOf cuts Markdown at its headings, but not at comments in code.
func sectionsOf(source string) []section {
	var at section
	var all []section
	isCode := false
	for line := range strings.Lines(source) {
		if strings.HasPrefix(line, "```") {
			isCode = !isCode
		}
		level := strings.IndexFunc(line, func(r rune) bool { return r != '#' })
		if !isCode && level > 0 && line[level] == ' ' {
			all = append(all, at)
			at = section{level: level, heading: strings.NewReplacer("`", "", "*", "").Replace(strings.TrimSpace(line[level:]))}
		}
		at.source += line
	}
	return append(all, at)
}

// part is the beginning of a large page, or one of its second-level sections with those below it.
type part struct {
	// name is that of a Page.
	name, source string
	sections     []section
}

// largePages returns the parts of the pages that are cut, by the pages' names. The first part is the beginning.
var largePages = sync.OnceValue(func() map[string][]part {
	large := map[string][]part{}
	for name, source := range sources() {
		if len(source) > maxWhole {
			large[name] = cut(name, source)
		}
	}
	return large
})

// sources returns the Markdown of all pages by name.
func sources() map[string]string {
	files, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		panic(err) // only for a bad pattern
	}
	all := map[string]string{}
	for _, file := range files {
		source, err := docs.Pages.ReadFile(file)
		if err != nil {
			panic(err) // it was embedded
		}
		all[strings.TrimSuffix(file, ".md")] = string(source)
	}
	return all
}

func cut(name, source string) []part {
	parts := []part{{name: name}}
	for _, s := range sectionsOf(source) {
		if s.level == 2 {
			parts = append(parts, part{name: name + "." + s.id()})
		}
		last := &parts[len(parts)-1]
		last.sections = append(last.sections, s)
	}
	title := ""
	for _, s := range parts[0].sections {
		parts[0].source += s.source
		if s.level == 1 {
			title = s.heading
			parts[0].source += contents(parts[0], parts[1:])
		}
	}
	for i := range parts[1:] {
		p := &parts[1+i]
		p.source = "# " + title + ": " + p.sections[0].heading + "\n\n[" + title + "](" + name + ".md)\n"
		for j, s := range p.sections {
			if j == 0 {
				_, s.source, _ = strings.Cut(s.source, "\n")
			}
			p.source += s.source
		}
	}
	return parts
}

// contents lists the parts with their sections, except those that the beginning links to.
func contents(beginning part, parts []part) string {
	var list strings.Builder
	for _, p := range parts {
		if p.isLinkedFrom(beginning) {
			continue
		}
		for _, s := range p.sections {
			list.WriteString(strings.Repeat("  ", s.level-2) + "- [" + s.heading + "](#" + s.id() + ")\n")
		}
	}
	return list.String() + "\n"
}

func (p part) isLinkedFrom(beginning part) bool {
	for _, s := range beginning.sections {
		if strings.Contains(s.source, "(#"+p.sections[0].id()+")") {
			return true
		}
	}
	return false
}

// locate returns the page or part that has a heading of a page, and the heading's ID there: a part's own heading is its title.
func locate(name, id string) (served, anchor string) {
	for i, p := range largePages()[name] {
		for j, s := range p.sections {
			switch {
			case s.level == 0 || s.id() != id:
			case i > 0 && j == 0:
				return p.name, ""
			default:
				return p.name, id
			}
		}
	}
	return name, id
}
