package frame

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/internal/printable"
	"holdfast/operator/access"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

// Manual is the path of the documentation.
const Manual = "/console/docs"

//go:embed parts
var parts embed.FS

// Page is one page to render.
type Page struct {
	// Title is the tab's title and the heading.
	Title string
	// Section is the current entry of the navigation; see sections.
	Section string
	// Data is available to the page's template as .Data.
	Data any
	// Guide is the path of the page's documentation below Manual; "" for that of its section.
	Guide string
}

// View is the data of a template: a page in its frame.
type View struct {
	Page

	Caller    access.Caller
	CanLogOut bool
	Sections  []section
	Flash     *Flash
	Version   string
	// Docs is the path of the page's documentation, without the prefix; "" if the user isn't logged in.
	Docs string
	// Theme is "light" or "dark" if the user has chosen one. Here is the URL of a page that can be loaded again, or "".
	Theme, Here string
	csrf        string
}

// parse parses the templates: each page's file defines "content", within the layout and with the shared parts, which are in the
// folder parts.
func parse(pages fs.FS, functions template.FuncMap) map[string]*template.Template {
	base := template.New("layout").Funcs(functions)
	for _, file := range filesOf(parts) {
		addFile(base, parts, file)
	}
	all := map[string]*template.Template{}
	for _, file := range filesOf(pages) {
		page := template.Must(base.Clone())
		addFile(page, pages, file)
		all[strings.TrimSuffix(path.Base(file), ".html")] = page
	}
	return all
}

// Part responds with a part of a page, which replaces the one on a page that was shown before, at a path without the prefix.
func (f *Frame) Part(ctx *fiber.Ctx, page, name, path string, p Page) error {
	return f.render(ctx, page, name, View{
		Page: p, Caller: httpapi.CallerOf(ctx), Here: f.prefix + path, csrf: guard.CSRFToken(ctx),
	})
}

// filesOf returns the files in the folders of a file system.
func filesOf(from fs.FS) []string {
	files, err := fs.Glob(from, "*/*.html")
	if err != nil {
		panic(err) // only for a bad pattern
	}
	return files
}

// indent matches the beginning of indented lines.
var indent = regexp.MustCompile(`\n[ \t]+`)

// addFile parses a file without the indentation of its lines, which would be a tenth of a long list.
func addFile(to *template.Template, from fs.FS, file string) {
	text, err := fs.ReadFile(from, file)
	if err != nil {
		panic(err) // it is part of the program
	}
	template.Must(to.New(path.Base(file)).Parse(indent.ReplaceAllString(string(text), "\n")))
}

// Show responds with a whole page, or with an error if rendering fails.
func (f *Frame) Show(ctx *fiber.Ctx, name string, p Page) error {
	v := View{
		Page: p, Caller: httpapi.CallerOf(ctx), CanLogOut: guard.NeedsLogin(ctx), Version: f.version,
		Theme: themeOf(ctx), Flash: takeFlash(ctx, f.prefix), csrf: guard.CSRFToken(ctx),
	}
	if ctx.Method() == fiber.MethodGet {
		v.Here = f.here(ctx)
	}
	if v.Caller.Name != "" {
		v.Sections, v.Docs = f.sections(ctx.UserContext(), v.Caller.Role, p.Section), docsOf(p)
	}
	return f.render(ctx, name, "layout.html", v)
}

func (f *Frame) render(ctx *fiber.Ctx, page, name string, data any) error {
	drawn, err := f.Fragment(page, name, data)
	if err != nil {
		return err
	}
	setPolicy(ctx)
	ctx.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return ctx.Send(drawn)
}

// Fragment renders a part of a page.
func (f *Frame) Fragment(page, name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := f.templates[page].ExecuteTemplate(&out, name, data)
	return withoutHidden(out.Bytes()), err
}

// sentBack matches form values, which must stay unchanged.
var sentBack = regexp.MustCompile(`(?s)<textarea.*?</textarea>|\bvalue="[^"<]*"`)

// withoutHidden escapes directional and control characters anywhere in a page.
func withoutHidden(page []byte) []byte {
	if bytes.IndexFunc(page, printable.IsHidden) < 0 {
		return page
	}
	var out bytes.Buffer
	at := 0
	for _, kept := range sentBack.FindAllIndex(page, -1) {
		out.WriteString(printable.Text(string(page[at:kept[0]])))
		out.Write(page[kept[0]:kept[1]])
		at = kept[1]
	}
	out.WriteString(printable.Text(string(page[at:])))
	return out.Bytes()
}

// Templates returns the pages' templates by name, each with the layout and the parts.
func (f *Frame) Templates() map[string]*template.Template { return maps.Clone(f.templates) }

// setPolicy restricts a page to resources of its own origin.
func setPolicy(ctx *fiber.Ctx) {
	ctx.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	ctx.Set("Cross-Origin-Opener-Policy", "same-origin")
	ctx.Set(fiber.HeaderReferrerPolicy, "same-origin") // with none at all, browsers don't send a form's origin
}

// section is an entry of the navigation.
type section struct {
	Name, Path string
	Current    bool
	// Count is how many need attention.
	Count int64
}

// sections returns the navigation's entries with a page that the role may see.
func (f *Frame) sections(ctx context.Context, role access.Role, current string) (shown []section) {
	var counts map[string]int64
	if f.counts != nil {
		counts = f.counts(ctx)
	}
	for _, s := range []section{
		{Name: "Now", Path: "/console"},
		{Name: "Events", Path: "/console/events"},
		{Name: "Dead letters", Path: "/console/dead-letters"},
		{Name: "Entities", Path: "/console/entities"},
		{Name: "Deliveries", Path: "/console/deliveries"},
		{Name: "Destinations", Path: "/console/destinations"},
		{Name: "Providers", Path: "/console/providers"},
		{Name: "Operations", Path: "/console/operations"},
		{Name: "Audit", Path: "/console/audit"},
	} {
		s.Current, s.Count = s.Name == current, counts[s.Name]
		if f.May(role, "GET", s.Path) {
			shown = append(shown, s)
		}
	}
	return shown
}

// docsOf returns where the documentation of a page begins.
func docsOf(p Page) string {
	if p.Guide != "" {
		return Manual + p.Guide
	}
	page, ok := map[string]string{
		"Events": "/console", "Dead letters": "/replay", "Entities": "/keys-and-entities", "Deliveries": "/deliveries",
		"Destinations": "/console#destinations-and-subscriptions", "Providers": "/provider-setup", "Operations": "/replay",
		"Audit": "/operator-api", "Now": "/playbook",
	}[p.Section]
	if !ok {
		return Manual
	}
	return Manual + page
}

// May reports whether a role may use a route of the console, given by its registered path.
func (f *Frame) May(role access.Role, method, path string) bool {
	return role.Includes(access.Needs(method, path)) && slices.ContainsFunc(f.routes, func(r guard.Page) bool {
		return r.Method == method && r.Path == path
	})
}
