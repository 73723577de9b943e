package exchange

import (
	"encoding/base64"
	"encoding/json"

	"github.com/gofiber/fiber/v2"
)

// List is one page of a list.
type List[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
	// Note says what the page lacks.
	Note string `json:"note,omitempty"`
}

// Cut makes a page of limit rows out of one row more than that, if there is one: that row says that there is a next page.
// A cursor is a place in the order of the list and not a number of rows, so that what comes in meanwhile moves nothing.
func Cut[T, V, C any](rows []T, limit int, view func(T) V, cursor func(T) C) List[V] {
	p := List[V]{Items: make([]V, 0, len(rows))}
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = encodeCursor(cursor(rows[limit-1]))
	}
	for _, row := range rows {
		p.Items = append(p.Items, view(row))
	}
	return p
}

// GoOn gives the page the cursor of a place, if there is more behind it.
func (l *List[T]) GoOn(isMore bool, place any) {
	if isMore {
		l.Next = encodeCursor(place)
	}
}

func encodeCursor(place any) string {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // text, numbers and times, which never fail
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// CursorOf reads the cursor of a request; nil where there is none.
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

// DecodeCursor is the place that a page has named as its next.
func DecodeCursor[C any](text string) (*C, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	place := new(C)
	return place, json.Unmarshal(raw, place)
}

// Answer gives what was read as JSON.
func Answer[T any](c *fiber.Ctx, read func(*fiber.Ctx) (T, error)) error {
	shown, err := read(c)
	if err != nil {
		return err
	}
	return c.JSON(shown)
}

// Same is the view of a row that is shown as it is.
func Same[T any](v T) T { return v }
