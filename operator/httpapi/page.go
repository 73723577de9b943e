package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/gofiber/fiber/v2"
)

// List is one page of a list.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page; empty on the last page.
	Next string `json:"next,omitempty"`
	// Note says what is missing from the page.
	Note string `json:"note,omitempty"`
}

// NewPage makes a page of limit rows. Pass one more row if there is one: it shows that there is a next page. A cursor is a
// position in the list's order rather than a row count, so new rows shift nothing.
func NewPage[T, V, C any](rows []T, limit int, view func(T) V, cursor func(T) C) List[V] {
	p := List[V]{Items: make([]V, 0, len(rows))}
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = EncodeCursor(cursor(rows[limit-1]))
	}
	for _, row := range rows {
		p.Items = append(p.Items, view(row))
	}
	return p
}

// ContinueAt sets the page's cursor to a place if more follows.
func (l *List[T]) ContinueAt(isMore bool, place any) {
	if isMore {
		l.Next = EncodeCursor(place)
	}
}

// EncodeCursor returns a place as a cursor.
func EncodeCursor(place any) string {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // marshaling text, numbers and times never fails
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// CursorOf parses the cursor of a request; nil without one.
func CursorOf[C any](q *Query, valid func(C) bool) *C {
	text := q.Text("cursor")
	if text == "" || q.Err != nil {
		return nil
	}
	place, err := DecodeCursor[C](text)
	if err != nil || !valid(*place) {
		q.Err = Refuse(CodeBadCursor)
		return nil
	}
	return place
}

// DecodeCursor decodes the cursor of a page.
func DecodeCursor[C any](text string) (*C, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	place := new(C)
	return place, json.Unmarshal(raw, place)
}

// Respond responds with the read value as JSON.
func Respond[T any](c *fiber.Ctx, read func(*fiber.Ctx) (T, error)) error {
	return RespondWith(c, func(context.Context) (T, error) { return read(c) })
}

// Answers returns a handler that responds with what do returns.
func Answers[T any](do func(*fiber.Ctx) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error { return Respond(c, do) }
}

// RespondWith is Respond for a function that needs only the request's context.
func RespondWith[T any](c *fiber.Ctx, read func(context.Context) (T, error)) error {
	shown, err := read(RequestContext(c))
	if err != nil {
		return err
	}
	return c.JSON(shown)
}

// RespondList responds with the list that a request asks for.
func RespondList[Q, L any](
	c *fiber.Ctx, query func(*fiber.Ctx) (Q, error), list func(context.Context, Q) (L, error),
) error {
	wanted, err := query(c)
	if err != nil {
		return err
	}
	return RespondWith(c, func(ctx context.Context) (L, error) { return list(ctx, wanted) })
}

// ListOf returns a list with all rows; an empty one is [] in JSON.
func ListOf[T any](rows []T, err error) (List[T], error) {
	return List[T]{Items: append([]T{}, rows...)}, err
}

// Identity returns the row unchanged, as its own view.
func Identity[T any](v T) T { return v }
