package api

import (
	"cmp"
	"context"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"

	"holdfast/event/feed"
	"holdfast/operator/httpapi"
)

const eventStream = "text/event-stream"

// changePage is a page of the feed. Next is always set: later changes follow it.
type changePage struct {
	Items []feed.Change `json:"items"`
	Next  feed.Cursor   `json:"next"`
	// More reports that the next page can be read immediately.
	More bool `json:"more"`
}

// showChanges returns a page of the feed, or streams it if the caller asks for a stream.
func (a *API) showChanges(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, "after", "provider", "subject", "kind", "limit")
	f := feed.Filter{Provider: q.Text("provider"), Subject: httpapi.Choose(q, "subject", feed.Subjects()), Kind: q.Text("kind")}
	limit := q.Limit()
	if q.Err != nil {
		return q.Err
	}
	ctx, cancel := httpapi.RequestContext(c)
	defer cancel()
	c.Vary(fiber.HeaderAccept)
	isSocket := websocket.FastHTTPIsWebSocketUpgrade(c.Context())
	if !isSocket && c.Accepts(fiber.MIMEApplicationJSON, eventStream) != eventStream {
		after, err := a.positionOf(ctx, q.Text("after"), "start")
		if err != nil {
			return err
		}
		return a.showChangePage(ctx, c, after, f, limit)
	}
	place := c.Get("Last-Event-ID")
	if place == "" {
		place = q.Text("after")
	}
	after, err := a.positionOf(ctx, place, "now")
	if err != nil {
		return err
	}
	who, err := a.Live.Join(ctx, after, f)
	if err != nil {
		return err
	}
	writeTimeout := cmp.Or(a.WriteTimeout, streamWriteTimeout)
	if isSocket {
		return sendSocket(c, who, writeTimeout)
	}
	return sendEvents(c, who, writeTimeout)
}

// positionOf parses a position: a cursor, "start" (the oldest kept change), "now" (the end) or a time.
func (a *API) positionOf(ctx context.Context, text, otherwise string) (feed.Cursor, error) {
	if text == "" {
		text = otherwise
	}
	switch text {
	case "start":
		return feed.Cursor{}, nil
	case "now":
		return a.Changes.Now(ctx)
	}
	if c, err := feed.ParseCursor(text); err == nil {
		return c, nil
	}
	at, err := httpapi.ParseTime(text)
	if err != nil {
		return feed.Cursor{}, httpapi.Refuse(httpapi.CodeBadCursor)
	}
	return a.Changes.Since(ctx, at)
}

// maxReads bounds how many pages are read to fill one page when the filter drops most changes.
const maxReads = 20

func (a *API) showChangePage(ctx context.Context, c *fiber.Ctx, after feed.Cursor, f feed.Filter, limit int) error {
	p := changePage{Items: []feed.Change{}, Next: after, More: true}
	for range maxReads {
		read, err := a.Changes.Changes(ctx, p.Next, limit)
		if err != nil {
			return err
		}
		for _, one := range f.Select(read.Items) {
			if len(p.Items) == limit {
				p.More = true
				return c.JSON(p)
			}
			p.Items, p.Next = append(p.Items, one), one.Cursor
		}
		if p.Next, p.More = read.Next, read.More; !p.More {
			break
		}
	}
	return c.JSON(p)
}

const (
	// streamTime is the maximum length of a stream. The client then reconnects and is authenticated again.
	streamTime = time.Hour
	// streamWriteTimeout is how long to wait for a client that doesn't read.
	streamWriteTimeout = 10 * time.Second
)
