package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/internal/word"
)

// Query are the parameters of a request, each given at most once.
type Query struct {
	values url.Values
	isPage bool
	// Err is the first error in the parameters.
	Err error
}

// QueryOf parses the parameters and refuses unknown ones.
func QueryOf(c *fiber.Ctx, known ...Parameter) *Query {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return &Query{Err: Refuse(CodeBadRequest)}
	}
	q := &Query{values: values, isPage: isForm(c)}
	for name, all := range values {
		switch {
		case !slices.ContainsFunc(known, func(p Parameter) bool { return p.Name == name }) || len(all) > 1:
			q.Err = refuseField(CodeUnknownParameter, Shortened(name))
		case len(all[0]) > MaxText || !IsText(all[0]):
			q.Err = BadParameter(name)
		}
	}
	return q
}

// Refuse records an invalid value of a parameter, unless there was an earlier error.
func (q *Query) Refuse(name string) {
	if q.Err == nil {
		q.Err = BadParameter(name)
	}
}

// Needs records that a parameter needs another one, unless there was an earlier error.
func (q *Query) Needs(name, other string) {
	if q.Err == nil {
		q.Err = &RefusalError{Code: CodeBadParameter, Field: name, Detail: "it needs " + other}
	}
}

// Text returns a parameter unchanged, or "".
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Source returns a source within the "provider" parameter, or "".
func (q *Query) Source() string {
	source := q.Text("source")
	if source != "" && q.Text("provider") == "" {
		q.Needs("source", "provider")
	}
	return source
}

// Choose returns a value out of a closed set, or "".
func Choose[T ~string](q *Query, name string, all []T) T {
	value, err := word.Choose(q.values.Get(name), all)
	if err != nil && q.Err == nil {
		q.Err = RefuseChoice(CodeBadParameter, name, err)
	}
	return value
}

// Time parses an RFC 3339 time or a duration that counts back from now ("24h", "7d"). It returns zero without one.
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

// Period parses a time range, which must not be empty.
func (q *Query) Period() (since, until time.Time) {
	since, until = q.Time("since"), q.Time("until")
	if q.Err == nil {
		q.Err = CheckPeriod(CodeBadParameter, since, until)
	}
	return since, until
}

// Duration parses a duration within bounds, or returns the default.
func (q *Query) Duration(name string, usual, least, most time.Duration) time.Duration {
	text := q.values.Get(name)
	if text == "" {
		return usual
	}
	d, err := Duration(CodeBadParameter, name, text, least, most)
	if err != nil && q.Err == nil {
		q.Err = err
	}
	return d
}

const defaultLimit = 50

const (
	// MaxLimit is the maximum number of rows of a list.
	MaxLimit = 200
	// MaxPageLimit is the maximum number of rows on a page of the console, for which larger ones would take a phone too long.
	MaxPageLimit = 75
	// MaxFirst is the maximum number of rows that a quick plan looks at.
	MaxFirst = 10_000
)

// Limit returns the number of rows. A page of the console has no more than MaxPageLimit, also if the query asks for more.
func (q *Query) Limit() int {
	text := q.values.Get("limit")
	if text == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxLimit {
		q.Refuse("limit")
	}
	if q.isPage {
		n = min(n, MaxPageLimit)
	}
	return n
}
