package exchange

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/internal/word"
)

// Query are the parameters of a request, each at most once.
type Query struct {
	values url.Values
	// Err is the first thing that is wrong with them.
	Err error
}

// QueryOf refuses parameters that the list does not know.
func QueryOf(c *fiber.Ctx, known ...string) *Query {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return &Query{Err: Refuse(CodeBadRequest)}
	}
	q := &Query{values: values}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name) || len(all) > 1:
			q.Err = refuseField(CodeUnknownParameter, Shortened(name))
		case len(all[0]) > MaxText || !IsText(all[0]):
			q.Err = BadParameter(name)
		}
	}
	return q
}

// Refuse says that the value of a parameter cannot be, unless something was wrong before.
func (q *Query) Refuse(name string) {
	if q.Err == nil {
		q.Err = BadParameter(name)
	}
}

// Text is a parameter as it is, or "".
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Source is a sender within the provider that stands beside it, or "".
func (q *Query) Source() string {
	source := q.Text("source")
	if source != "" && q.Text("provider") == "" {
		q.Refuse("source")
	}
	return source
}

// Choose is a value out of a closed set, or "".
func Choose[T ~string](q *Query, name string, all []T) T {
	value, err := word.Choose(q.values.Get(name), all)
	if err != nil && q.Err == nil {
		q.Err = RefuseChoice(CodeBadParameter, name, err)
	}
	return value
}

// Time is a time in RFC 3339, or a duration that counts back from now ("24h", "7d"). It is zero where there is none.
func (q *Query) Time(name string) time.Time {
	text := q.values.Get(name)
	if text == "" {
		return time.Time{}
	}
	at, err := ParseTime(text)
	if err != nil && q.Err == nil {
		q.Err = &RefusalError{Code: CodeBadParameter, Field: name, Detail: err.Error()}
	}
	return at
}

// Period is a stretch of time that has something in it.
func (q *Query) Period() (since, until time.Time) {
	since, until = q.Time("since"), q.Time("until")
	if !HoldsTime(since, until) && q.Err == nil {
		q.Err = &RefusalError{Code: CodeBadParameter, Field: "until", Detail: "must be later than since"}
	}
	return since, until
}

const defaultLimit = 50

// MaxLimit is how many rows a page has at most.
const MaxLimit = 200

// Limit is the size of the page.
func (q *Query) Limit() int {
	text := q.values.Get("limit")
	if text == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxLimit {
		q.Refuse("limit")
	}
	return n
}
