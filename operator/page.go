package operator

import (
	"encoding/base64"
	"encoding/json"
)

// page is one page of a list.
type page[T any] struct {
	Items []T `json:"items"`
	// Next is the cursor of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// cut makes a page of limit rows out of one row more than that, if there is one: that row says that there is a next page.
// A cursor is a place in the order of the list and not a number of rows, so that what comes in meanwhile moves nothing.
func cut[T, V, C any](rows []T, limit int, view func(T) V, cursor func(T) C) page[V] {
	p := page[V]{Items: make([]V, 0, len(rows))}
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = encodeCursor(cursor(rows[limit-1]))
	}
	for _, row := range rows {
		p.Items = append(p.Items, view(row))
	}
	return p
}

func encodeCursor(place any) string {
	text, err := json.Marshal(place)
	if err != nil {
		panic(err) // text, numbers and times, which never fail
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// cursorOf reads the cursor of a request; nil where there is none.
func cursorOf[C any](q *query, valid func(C) bool) *C {
	text := q.text("cursor")
	if text == "" || q.err != nil {
		return nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	place := new(C)
	if err == nil {
		err = json.Unmarshal(raw, place)
	}
	if err != nil || !valid(*place) {
		q.err = refuse(codeBadCursor)
		return nil
	}
	return place
}

func same[T any](v T) T { return v }
