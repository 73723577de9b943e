package feed

import (
	"cmp"
	"context"
	"time"
)

// Heartbeat is the interval of empty batches while nothing changes.
const Heartbeat = 15 * time.Second

// Batch is a batch of changes for a follower.
type Batch struct {
	Items []Change
	// Skipped is the number of matching changes after Items that were dropped because the follower was slow. They are between the
	// last item and Next, and can be read in pages.
	Skipped int
	// Next is the position after the batch; zero if it hasn't moved.
	Next Cursor
}

// Compare compares two positions of one epoch.
func (c Cursor) Compare(other Cursor) int {
	return cmp.Or(cmp.Compare(c.XID, other.XID), cmp.Compare(c.Seq, other.Seq), cmp.Compare(c.Item, other.Item))
}

// Follower follows the feed from a position.
type Follower struct {
	hub   *Hub
	l     *listener
	after Cursor
	live  Cursor // the position from which the listener gets all changes
	first Page   // first page
}

// Join returns a follower from a position on. The caller must call Run or Leave. The error is ErrTooMany, ErrResync, or from the
// reader.
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

// Leave ends a follower that isn't running.
func (o *Follower) Leave() { o.hub.leave(o.l) }

// Run sends the changes after the position, then new ones, and empty batches as heartbeats, until ctx ends, the hub closes, or
// send fails. The error is from send, ErrResync, or from the reader; nil if ctx or the hub has ended.
func (o *Follower) Run(ctx context.Context, send func(Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(o.hub.ctx, cancel)
	defer stop()
	defer o.Leave()
	err := o.deliver(o.first, send)
	for o.first.Items = nil; err == nil; { // more may have arrived meanwhile than the buffer holds
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

func (o *Follower) deliver(p Page, send func(Batch) error) error {
	o.after = p.Next
	return send(Batch{Items: o.l.filter.Select(p.Items), Next: p.Next})
}

// catchUp sends the changes before the position from which the listener gets all.
func (o *Follower) catchUp(ctx context.Context, send func(Batch) error) error {
	for o.after.Compare(o.live) < 0 {
		page, err := o.hub.reader.Changes(ctx, o.after, pageSize)
		if err != nil || !page.More && len(page.Items) == 0 {
			return err
		}
		if err := o.deliver(page, send); err != nil {
			return err
		}
	}
	return nil
}

// follow sends new changes, except those already sent.
func (l *listener) follow(ctx context.Context, last Cursor, send func(Batch) error) error {
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.ready:
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
