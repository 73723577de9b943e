package frame

import (
	"net/url"

	"github.com/gofiber/fiber/v2"
)

// Query is one parameter of an address.
func Query(name, value string) string { return url.Values{name: {value}}.Encode() }

// Confirm is a question that stands before what somebody may regret. Its form is sent to Action, which is an address without the
// prefix, with the field "reason" where one is asked for.
type Confirm struct {
	Section, Title string
	// Question says in a sentence what will happen; Facts, what it happens to.
	Question string
	Facts    []Fact
	Action   string
	// Button is what is done, as a verb.
	Button string
	// Reason is "", "optional" or "required".
	Reason string
	// Destroys says that it cannot be taken back.
	Destroys bool
	// Fields are sent along.
	Fields []Fact
	// Back is where one goes who does not want to; an address without the prefix.
	Back string
}

// Fact is a name and what stands behind it. A list of them reads as a table.
type Fact [2]string

// Name is what it is called.
func (f Fact) Name() string { return f[0] }

// Value is what stands behind the name.
func (f Fact) Value() string { return f[1] }

// Ask asks.
func (f *Frame) Ask(ctx *fiber.Ctx, q Confirm) error {
	return f.Show(ctx, "confirm", Page{Title: q.Title, Section: q.Section, Data: q})
}

// QueryOf is the query of a page that the API has read already, and so refused where it is none.
func QueryOf(ctx *fiber.Ctx) url.Values {
	values, _ := url.ParseQuery(string(ctx.Request().URI().QueryString()))
	return values
}

// nextPage is the address of this list from a cursor on, with the prefix; "" where the list ends.
func (f *Frame) nextPage(ctx *fiber.Ctx, cursor string) string {
	if cursor == "" {
		return ""
	}
	values := QueryOf(ctx)
	values.Set("cursor", cursor)
	return f.prefix + ctx.Path() + "?" + values.Encode()
}

// Pager leads through a list: {{template "pager" .Pager}}.
type Pager struct {
	// First and Next are addresses; "" where there is none.
	First, Next string
}

// Pager is that of the list which this request asks for.
func (f *Frame) Pager(ctx *fiber.Ctx, cursor string) Pager {
	p := Pager{Next: f.nextPage(ctx, cursor)}
	if ctx.Query("cursor") != "" {
		values := QueryOf(ctx)
		values.Del("cursor")
		p.First = f.prefix + ctx.Path() + "?" + values.Encode()
	}
	return p
}
