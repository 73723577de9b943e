package feed

import "errors"

// Page is a page of the feed.
type Page struct {
	Items []Change
	// Next is the position after it.
	Next Cursor
	// More: there may be more changes already.
	More bool
}

// ErrResync is returned if the feed no longer has a position: the database was restored and has a new epoch, or the changes after
// it have expired. Followers must read the current state again and continue at the end of the feed.
var ErrResync = errors.New("the feed no longer has this position: read the current state, then continue at the end")
