// Package manual renders and searches the documentation that is part of the program. It must not depend on the console's pages.
package manual

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"path"
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

// Page is a page of the documentation, or a part of a large one.
type Page struct {
	// Name is the file's name without .md. That of a part ends with a dot and its ID.
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
	relink(root, base, name)
	var out bytes.Buffer
	if err := newMarkdown().Renderer().Render(&out, source, root); err != nil {
		return Page{}, fmt.Errorf("render %s: %w", name, err)
	}
	page.HTML = template.HTML(handy.Replace(out.String())) //nolint:gosec // the pages are ours, and goldmark leaves raw HTML out
	return page, nil
}

// handy puts tables into boxes that scroll, also by the keyboard, so that narrow windows don't break their words, and a button
// that copies it below each block of code.
var handy = strings.NewReplacer(
	"<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>",
	"</code></pre>", `</code></pre><button type="button" class="copy" hidden>Copy</button>`)

// read returns the Markdown of a page or a part.
func read(name string) ([]byte, error) {
	if name != path.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fs.ErrNotExist
	}
	file, _, isPart := strings.Cut(name, ".")
	parts, isLarge := largePages()[file]
	if !isLarge && !isPart {
		return docs.Pages.ReadFile(name + ".md")
	}
	for _, p := range parts {
		if p.name == name {
			return []byte(p.source), nil
		}
	}
	return nil, fs.ErrNotExist
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

// images is the folder of the pictures, next to the pages.
const images = "images"

// Image returns a picture of the pages as WebP. Its URL is /images/ and its name below that of the pages. An unknown one is
// fs.ErrNotExist.
func Image(name string) ([]byte, error) {
	if name != path.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fs.ErrNotExist
	}
	return docs.Images.ReadFile(images + "/" + name)
}

// relink makes the links and pictures of a page lead to what is served, and removes links to files that the program doesn't have.
func relink(root ast.Node, base, from string) {
	from, _, _ = strings.Cut(from, ".")
	var gone []*ast.Link
	_ = ast.Walk(root, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if picture, ok := n.(*ast.Image); ok && enters {
			picture.Destination = append([]byte(base+"/"), picture.Destination...)
		}
		l, ok := n.(*ast.Link)
		if !ok || !enters {
			return ast.WalkContinue, nil
		}
		file, heading, _ := strings.Cut(string(l.Destination), "#")
		if strings.Contains(file, "://") {
			return ast.WalkContinue, nil
		}
		name := cmp.Or(strings.TrimSuffix(file, ".md"), from)
		if _, err := read(name); err != nil || name == file {
			gone = append(gone, l)
			return ast.WalkContinue, nil //nolint:nilerr // the program has no such page
		}
		name, heading = locate(name, heading)
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
