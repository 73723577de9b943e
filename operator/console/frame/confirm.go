package frame

import (
	"net/url"

	"github.com/gofiber/fiber/v2"
)

// Query returns one encoded query parameter.
func Query(name, value string) string { return url.Values{name: {value}}.Encode() }

// Confirm is a confirmation page before an action that a user may regret. Its form posts to Action, a path without the prefix,
// with the field "reason" if one is asked for.
type Confirm struct {
	Section, Title string
	// Question says in a sentence what will happen; Facts list what is affected.
	Question string
	Facts    []Fact
	Action   string
	// Button is the action as a verb.
	Button string
	// Reason is "", "optional" or "required".
	Reason string
	// Destroys reports that the action can't be undone.
	Destroys bool
	// Fields are hidden fields of the form.
	Fields []Fact
	// Back is where the cancel link leads, a path without the prefix.
	Back string
}

// Fact is a name and its value. A list of facts is shown as a table.
type Fact [2]string

// Name returns the fact's name.
func (f Fact) Name() string { return f[0] }

// Value returns the fact's value.
func (f Fact) Value() string { return f[1] }

// Ask shows the confirmation page.
func (f *Frame) Ask(ctx *fiber.Ctx, q Confirm) error {
	return f.Show(ctx, "confirm", Page{Title: q.Title, Section: q.Section, Data: q})
}

// QueryOf returns the query of a page. The API has already parsed it, so it is valid.
func QueryOf(ctx *fiber.Ctx) url.Values {
	values, _ := url.ParseQuery(string(ctx.Request().URI().QueryString()))
	return values
}

// nextPage returns the URL of this list from a cursor on, with the prefix; "" at the end of the list.
func (f *Frame) nextPage(ctx *fiber.Ctx, cursor string) string {
	if cursor == "" {
		return ""
	}
	values := QueryOf(ctx)
	values.Set("cursor", cursor)
	return f.prefix + ctx.Path() + "?" + values.Encode()
}

// Pager links the pages of a list: {{template "pager" .Pager}}.
type Pager struct {
	// First and Next are URLs or "".
	First, Next string
}

// Pager returns the pager of the requested list.
func (f *Frame) Pager(ctx *fiber.Ctx, cursor string) Pager {
	p := Pager{Next: f.nextPage(ctx, cursor)}
	if ctx.Query("cursor") != "" {
		values := QueryOf(ctx)
		values.Del("cursor")
		p.First = f.prefix + ctx.Path() + "?" + values.Encode()
	}
	return p
}
