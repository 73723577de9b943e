package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/decode"
	"holdfast/providers/jq"
	"holdfast/providers/mapping"
)

// The limits of a page.
const (
	// MaxAnswer is in bytes, decompressed.
	MaxAnswer = 8 << 20
	// MaxDetail is MaxAnswer for the body of one missed event, which may be escaped in its answer.
	MaxDetail = 32 << 20
	maxItems  = 1000
)

// Answer is the response to a Request, with status 200.
type Answer struct {
	// Links are the Link headers.
	Links []string
	// Body is decompressed.
	Body []byte
}

// Page is a page of a list.
type Page struct {
	// Items are those within the window, in the order of the list.
	Items []Item
	// Listed is the number of items in the answer, including those outside the window.
	Listed int
	// Next is the walk after this page; nil if this was the last page.
	Next *Walk
}

// Item is an event in a list.
type Item struct {
	// Time is the item's time in the list. The time of the event is that of its request, as usual.
	Time time.Time
	// Text is the item as the provider wrote it.
	Text []byte
	// Request is the webhook that the provider would have sent. Its body is the item's if the list has a FollowUp.
	Request *auth.Request
	// Path is the path of the list's FollowUp; "" if there is none, or if the item lacks a part of it.
	Path string
	// Delivery is the delivery ID if the list is by deliveries. IsDelivered reports whether this delivery has succeeded.
	Delivery    string
	IsDelivered bool
}

// Read reads the answer to the request for a walk's next page. The error is a *Error.
func (l *List) Read(w Walk, a Answer) (Page, error) {
	done, err := decode.Turn(context.Background(), len(a.Body))
	if err != nil {
		return Page{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	if len(a.Body) > MaxAnswer {
		return Page{}, Errorf(KindUnreadable, "the answer is larger than %d bytes: lower the size of a page", MaxAnswer)
	}
	value, err := decode.JSON(a.Body)
	if err != nil {
		return Page{}, a.notJSON(l)
	}
	list, ok := rawAt(a.Body, l.items)
	var texts []json.RawMessage
	if !ok || json.Unmarshal(list, &texts) != nil || texts == nil {
		return Page{}, Errorf(KindUnreadable, "the answer has no list at recover.items")
	}
	if len(texts) > maxItems {
		return Page{}, Errorf(KindUnreadable, "the answer has %d items, and %d are allowed: lower the size of a page",
			len(texts), maxItems)
	}
	cursor, failed := l.next.of(ctx, a, value, w.Cursor)
	if failed != nil {
		return Page{}, failed
	}
	page, beyond, err := l.readItems(ctx, w, texts)
	if err != nil {
		return Page{}, err
	}
	if len(texts) == 0 {
		list = nil
	}
	next, failed := w.after(cursor, list)
	if failed != nil {
		return Page{}, failed
	}
	next.Beyond = beyond
	switch {
	case l.isPast(next):
	case cursor != "":
		page.Next = &next
	case saysMore(value):
		return Page{}, Errorf(KindUnreadable, "%s: the answer says that there is more, but recover.next found no next page in it", l)
	}
	return page, nil
}

// saysMore reports whether an answer has more pages by its own account. Otherwise an empty page in the middle of a list would end
// it.
func saysMore(answer any) bool {
	fields, _ := answer.(map[string]any)
	return fields["has_more"] == true || fields["hasMore"] == true
}

// notJSON returns the error of an answer that isn't JSON.
func (a Answer) notJSON(what fmt.Stringer) *Error {
	if bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<")) {
		return Errorf(KindUnreadable, "%s: the answer is HTML or XML, not JSON: a proxy or a sign-in page may have answered. "+
			"Check api.host", what)
	}
	return Errorf(KindUnreadable, "%s: the answer isn't complete JSON", what)
}

// readItems returns the items of the window, and how many in a row are beyond it.
func (l *List) readItems(ctx context.Context, w Walk, texts []json.RawMessage) (page Page, beyond int, err error) {
	page.Listed, beyond = len(texts), w.Beyond
	for _, text := range texts {
		item, err := l.item(ctx, text, w.Target)
		if err != nil {
			return Page{}, 0, err
		}
		if beyond++; !l.isBeyond(w, item.Time) {
			beyond = 0
		}
		if !item.Time.Before(w.From) && item.Time.Before(w.To) {
			page.Items = append(page.Items, item)
		}
	}
	return page, beyond, nil
}

// WebhookOf returns the webhook with a body, and with headers that are kept.
func (l *List) WebhookOf(body []byte, headers map[string]string) *auth.Request {
	r := &auth.Request{Method: "POST", Path: l.webhook, Body: body}
	r.SetHeader("content-type", "application/json")
	for name, value := range headers {
		r.SetHeader(name, value)
	}
	return r
}

// Item reads one item of a list, as of some target. The error is a *Error.
func (l *List) Item(text []byte) (Item, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jq.Deadline)
	defer cancel()
	return l.item(ctx, text, varTarget)
}

func (l *List) item(ctx context.Context, text []byte, target string) (Item, error) {
	value, err := decode.JSON(text)
	if err != nil {
		return Item{}, Errorf(KindUnreadable, "an item isn't JSON")
	}
	in := jq.Input{Value: map[string]any{"item": value}}
	v, err := l.time.First(ctx, in, nil)
	if err != nil {
		return Item{}, Errorf(KindUnreadable, "%s", l.time.Failed(err).Error())
	}
	written, _ := jq.Text(v)
	at, ok := mapping.ParseTime(written, l.unit)
	if !ok {
		return Item{}, Errorf(KindUnreadable, "an item has no time: recover.time.expr must return one in %s", l.unit)
	}
	body, ok := l.body.of(text)
	if !ok {
		return Item{}, Errorf(KindUnreadable, "an item lacks the part that recover.body names")
	}
	item := Item{Time: at.UTC(), Text: text, Request: l.WebhookOf(body, nil)}
	err = l.addFollowUp(ctx, &item, in, target)
	return item, err
}
