package frame

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"holdfast/internal/printable"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/exchange"
)

//go:embed parts
var parts embed.FS

// Page is what one page shows.
type Page struct {
	// Title is that of the tab, and the heading.
	Title string
	// Section is the entry of the navigation that is the current one; see sections.
	Section string
	// Data is what the page's own template reads as .Data.
	Data any
}

// View is what templates read: a page in its frame.
type View struct {
	Page

	Caller    access.Caller
	CanLogOut bool
	Sections  []section
	Flash     *Flash
	Version   string
	csrf      string
}

// parse reads the templates: each file of the pages is one that defines "content", within the layout and with the parts that all
// pages may use, which stand in parts.
func parse(pages fs.FS, functions template.FuncMap) map[string]*template.Template {
	base := template.Must(template.New("layout").Funcs(functions).ParseFS(parts, "parts/*.html"))
	files, err := fs.Glob(pages, "*/*.html")
	if err != nil {
		panic(err) // only for a bad pattern
	}
	all := map[string]*template.Template{}
	for _, file := range files {
		page := template.Must(template.Must(base.Clone()).ParseFS(pages, file))
		all[strings.TrimSuffix(path.Base(file), ".html")] = page
	}
	return all
}

// Show answers with a page, whole or not at all.
func (f *Frame) Show(ctx *fiber.Ctx, name string, p Page) error {
	v := View{
		Page: p, Caller: exchange.CallerOf(ctx), CanLogOut: operator.NeedsLogin(ctx), Version: f.version,
		Flash: takeFlash(ctx, f.prefix), csrf: operator.ProofOf(ctx),
	}
	if v.Caller.Name != "" {
		v.Sections = f.sections(v.Caller.Role, p.Section)
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

// Fragment is a piece of a page.
func (f *Frame) Fragment(page, name string, data any) ([]byte, error) {
	var out bytes.Buffer
	err := f.templates[page].ExecuteTemplate(&out, name, data)
	return withoutHidden(out.Bytes()), err
}

// sentBack are the values of forms, which come back as they are.
var sentBack = regexp.MustCompile(`(?s)<textarea.*?</textarea>|\bvalue="[^"]*"`)

// withoutHidden shows directional and control characters as escapes, wherever they were put into a page.
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

// Templates are those of the pages by name, each with the layout and the parts.
func (f *Frame) Templates() map[string]*template.Template { return maps.Clone(f.templates) }

// setPolicy lets a page load what stands beside it, and nothing else from anywhere.
func setPolicy(ctx *fiber.Ctx) {
	ctx.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	ctx.Set("Cross-Origin-Opener-Policy", "same-origin")
	ctx.Set(fiber.HeaderReferrerPolicy, "same-origin") // with none at all, browsers do not say where a form comes from
}
