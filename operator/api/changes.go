package api

import (
	"cmp"
	"context"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"

	"holdfast/event/feed"
	"holdfast/internal/word"
	"holdfast/operator/httpapi"
)

const eventStream = "text/event-stream"

type changePage struct {
	Items []feed.Change `json:"items"`
	// Next is the position after the page, even if it is empty: later changes follow it.
	Next feed.Cursor `json:"next"`
	// More reports that the next page can be read immediately.
	More bool `json:"more"`
}

var changeParameters = []httpapi.Parameter{
	{
		Name: "after",
		About: "A cursor, `start` (the oldest kept change), `now`, or a time: " + word.TimeForms + ". By default, " +
			"pages begin at the start and streams at the end. `Last-Event-ID` takes precedence.",
		Schema: map[string]any{"type": "string", "examples": []string{"now", "1h"}},
	},
	httpapi.ProviderParameter,
	httpapi.ChoiceParameter("subject", "Type of the changed object.", feed.Subjects()),
	httpapi.TextParameter("kind", "Kind of the entity, or the event type for other subjects."),
	httpapi.LimitParameter,
}

func (a *API) changeRoutes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Get("listChanges", "/changes", "Changes of events, entities, dead letters and deliveries after a position",
			a.showChanges).
			Explain("Responds with a page, with server-sent events (Accept: text/event-stream) or with a WebSocket (Upgrade).").
			With(changeParameters...).
			Returns(fiber.StatusOK, changePage{}).
			Returns(fiber.StatusOK, httpapi.Text{
				MediaType: eventStream,
				About: "Each message is a FeedChange whose ID is its cursor. The events `skipped` and `resync` say that changes are " +
					"missing.",
			}).
			Returns(fiber.StatusSwitchingProtocols, httpapi.Text{
				About: "A WebSocket: each message is a FeedChange, `{\"skipped\", \"after\"}` or `{\"resync\"}`.",
			}),
	}
}

// showChanges returns a page of the feed, or streams it if the caller asks for a stream.
func (a *API) showChanges(c *fiber.Ctx) error {
	q := httpapi.QueryOf(c, changeParameters...)
	f := feed.Filter{Provider: q.Text("provider"), Subject: httpapi.Choose(q, "subject", feed.Subjects()), Kind: q.Text("kind")}
	limit := q.Limit()
	if q.Err != nil {
		return q.Err
	}
	ctx := httpapi.RequestContext(c)
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
		return feed.Cursor{}, &httpapi.RefusalError{
			Code: httpapi.CodeBadCursor, Detail: "use the `next` of a page, start, now, or a time: " + err.Error(),
		}
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
