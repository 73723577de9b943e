package feed

import (
	"cmp"
	"context"
	"time"
)

// Beat is how often a follower hears that nothing has come.
const Beat = 15 * time.Second

// Batch is what has come to a follower.
type Batch struct {
	Items []Change
	// Skipped is how many wanted changes there were after Items that nobody waited for, since the follower was slow. They can be
	// read in pages: they stand between the last change that was given and Next.
	Skipped int
	// Next is the place behind all of it; zero where that is not known to have moved.
	Next Cursor
}

// Compare says which of two places of one epoch is first.
func (c Cursor) Compare(other Cursor) int {
	return cmp.Or(cmp.Compare(c.XID, other.XID), cmp.Compare(c.Seq, other.Seq), cmp.Compare(c.Item, other.Item))
}

// Follower follows the feed from a place.
type Follower struct {
	hub   *Hub
	l     *listener
	after Cursor
	live  Cursor // the place from which on l is given all
	first Page   // after the first place
}

// Join looks whether there is something to follow from a place. Whoever has a Follower lets it run, or leave. The error is
// ErrTooMany, ErrResync, or that of the reader.
func (h *Hub) Join(ctx context.Context, after Cursor, f Filter) (*Follower, error) {
	l, live, err := h.listen(ctx, f)
	if err != nil {
		return nil, err
	}
	one := &Follower{hub: h, l: l, after: after, live: live}
	if one.first, err = h.reader.Changes(ctx, after, pageSize); err != nil {
		one.Leave()
		return nil, err
	}
	return one, nil
}

// Leave ends a follower that does not run.
func (o *Follower) Leave() { o.hub.leave(o.l) }

// Run gives send what stands after the place and then what happens, and an empty batch now and then, until ctx ends, the hub
// closes, or send fails. The error is that of send, ErrResync, or that of the reader; nil if ctx or the hub has ended.
func (o *Follower) Run(ctx context.Context, send func(Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(o.hub.ctx, cancel)
	defer stop()
	defer o.Leave()
	err := o.give(o.first, send)
	for o.first.Items = nil; err == nil; { // what has come meanwhile may be more than is kept
		if err = o.catchUp(ctx, send); !o.l.overflows() {
			break
		}
		o.live = o.hub.restart(o.l)
	}
	if err == nil {
		err = o.l.follow(ctx, o.after, send)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (o *Follower) give(p Page, send func(Batch) error) error {
	o.after = p.Next
	return send(Batch{Items: o.l.filter.Sift(p.Items), Next: p.Next})
}

// catchUp sends what stands before the place from which the listener is given all.
func (o *Follower) catchUp(ctx context.Context, send func(Batch) error) error {
	for o.after.Compare(o.live) < 0 {
		page, err := o.hub.reader.Changes(ctx, o.after, pageSize)
		if err != nil || !page.More && len(page.Items) == 0 {
			return err
		}
		if err := o.give(page, send); err != nil {
			return err
		}
	}
	return nil
}

// follow sends what comes, but for what has been sent.
func (l *listener) follow(ctx context.Context, last Cursor, send func(Batch) error) error {
	beat := time.NewTicker(Beat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.came:
		case <-beat.C:
		}
		b, err := l.drain()
		if err != nil {
			return err
		}
		for len(b.Items) > 0 && b.Items[0].Cursor.Compare(last) <= 0 {
			b.Items = b.Items[1:]
		}
		if err := send(b); err != nil {
			return err
		}
	}
}
