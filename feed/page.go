package feed

import "errors"

// Page is a piece of the feed.
type Page struct {
	Items []Change
	// Next is the place behind it.
	Next Cursor
	// More says that there may be more already.
	More bool
}

// ErrResync says that a place is no more in the feed: it is of another epoch, which a restored database begins, or what came
// after it was removed by age. Who follows has to read the states that it keeps once more, and to begin anew.
var ErrResync = errors.New("the place is no longer in the feed: read again what you keep, and begin at the end of the feed")
