// Package manual renders and searches the documentation that is part of the program. It must not depend on the console's pages.
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"holdfast/docs"
)

// Index is the name of the page that lists all others.
const Index = "README"

// Page is a page of the documentation.
type Page struct {
	// Name is the file's name without .md.
	Name, Title string
	// HTML is the page without its title. Links lead to other pages below the base URL.
	HTML template.HTML
}

// Read renders a page. The base is the URL below which pages are served by their names. An unknown page is fs.ErrNotExist.
func Read(base, name string) (Page, error) {
	source, err := read(name)
	if err != nil {
		return Page{}, err
	}
	root := newMarkdown().Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
	page := Page{Name: name, Title: takeTitle(root, source)}
	relink(root, base)
	var out bytes.Buffer
	if err := newMarkdown().Renderer().Render(&out, source, root); err != nil {
		return Page{}, fmt.Errorf("render %s: %w", name, err)
	}
	page.HTML = template.HTML(out.String()) //nolint:gosec // the pages are ours, and goldmark leaves raw HTML out
	return page, nil
}

func read(name string) ([]byte, error) {
	if name != path.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fs.ErrNotExist
	}
	return docs.Pages.ReadFile(name + ".md")
}

// newMarkdown has no attributes for the alignment of cells: the console's policy allows no styles in pages.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// takeTitle removes the page's first heading and returns its text.
func takeTitle(root ast.Node, source []byte) string {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			root.RemoveChild(root, n)
			return plain(n, source)
		}
	}
	return ""
}

// plain returns the text below a node without its marks.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && enters {
			out.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// relink makes links between pages lead to the served pages, and removes those to files that the program doesn't have.
func relink(root ast.Node, base string) {
	var gone []*ast.Link
	_ = ast.Walk(root, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !enters {
			return ast.WalkContinue, nil
		}
		file, heading, _ := strings.Cut(string(l.Destination), "#")
		if file == "" || strings.Contains(file, "://") {
			return ast.WalkContinue, nil
		}
		name := strings.TrimSuffix(file, ".md")
		if _, err := read(name); err != nil || name == file {
			gone = append(gone, l)
			return ast.WalkContinue, nil //nolint:nilerr // the program has no such page
		}
		target := base + "/" + name
		if heading != "" {
			target += "#" + heading
		}
		l.Destination = []byte(target)
		return ast.WalkContinue, nil
	})
	for _, l := range gone {
		for child := l.FirstChild(); child != nil; child = l.FirstChild() {
			l.Parent().InsertBefore(l.Parent(), l, child)
		}
		l.Parent().RemoveChild(l.Parent(), l)
	}
}

// ids makes the IDs of headings as GitHub does, which is what links between pages use. Equal headings of a page get the same ID.
type ids struct{}

func (ids) Generate(value []byte, _ ast.NodeKind) []byte { return []byte(slug(string(value))) }
func (ids) Put([]byte)                                   {}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// Found is a section that has all words of a search.
type Found struct {
	// Name and Page are the page's name and title; Heading and ID are the section's, "" for the beginning of the page.
	Name, Page, Heading, ID string
	// Line is the first line with one of the words; "" if only headings have them.
	Line string

	rank int
}

// MaxFound is how many sections a search returns.
const MaxFound = 40

// Search returns the sections that have all words, those with the words in their headings first.
func Search(query string) (all []Found) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	files, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		panic(err) // only for a bad pattern
	}
	for _, file := range files {
		source, err := docs.Pages.ReadFile(file)
		if err != nil {
			panic(err) // it was embedded
		}
		all = append(all, searchPage(strings.TrimSuffix(file, ".md"), string(source), words)...)
	}
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Compare(b.rank, a.rank) })
	return all[:min(len(all), MaxFound)]
}

func searchPage(name, source string, words []string) (all []Found) {
	var section []string
	at := Found{Name: name}
	end := func() {
		if found, ok := match(at, section, words); ok {
			all = append(all, found)
		}
		section = nil
	}
	isCode := false
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			isCode = !isCode
		}
		level := strings.IndexFunc(line, func(r rune) bool { return r != '#' })
		switch {
		case isCode || level < 1 || line[level] != ' ':
			section = append(section, line)
		case level == 1 && at.Page == "":
			at.Page = line[2:]
		default:
			end()
			at.Heading = strings.NewReplacer("`", "", "*", "").Replace(line[level+1:])
			at.ID = slug(at.Heading)
		}
	}
	end()
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
