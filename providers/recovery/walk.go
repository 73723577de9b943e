package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/bits"
	"time"
)

// Walk is a position in a list: the next page to read of a window. It is JSON, so that a walk can continue in another process.
type Walk struct {
	// From and To bound the times of the items: From is in the window, To isn't.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Target selects the list, if the provider has several: a board, an account.
	Target string `json:"target,omitempty"`
	// Cursor is "" for the first page.
	Cursor string `json:"cursor,omitempty"`
	// Pages is the number of pages that have been read.
	Pages int `json:"pages"`
	// Beyond counts the last items in a row that a list without a filter has beyond the far end of the window.
	Beyond int `json:"beyond,omitempty"`
	// Mark is the hash of an earlier cursor, and Last that of the items of the last page that had any: both detect a circle.
	Mark string `json:"mark,omitempty"`
	Last string `json:"last,omitempty"`
	// Restarted is the number of pages that had been read when a walk through the same window began again; 0 if none has.
	Restarted int `json:"restarted,omitempty"`
}

// Restart returns a new walk through the window of one whose cursor the provider refused: it may have expired. Events that were
// read before are known by then. It is false if the error is another one, or if this walk came no farther than the one before it.
func (w Walk) Restart(err error) (again Walk, ok bool) {
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Kind != KindRefused || failed.Status < 400 || w.Cursor == "" || w.Pages <= w.Restarted {
		return Walk{}, false
	}
	return Walk{From: w.From, To: w.To, Target: w.Target, Restarted: w.Pages}, true
}

// Begin returns a walk through the window from (inclusive) to (exclusive).
func (l *List) Begin(from, to time.Time, target string) (Walk, error) {
	if !from.Before(to) {
		return Walk{}, errors.New("the window is empty: it must begin before it ends")
	}
	if err := CheckTarget(target); err != nil {
		return Walk{}, err
	}
	if l.NeedsTarget() && target == "" {
		return Walk{}, errors.New("the list needs a target, which its path names")
	}
	return Walk{From: from, To: to, Target: target}, nil
}

// NeedsTarget reports whether there is no list without a target. A header or a parameter is left out instead.
func (l *List) NeedsTarget() bool { return l.path.uses(varTarget) }

// enoughBeyond is how many items in a row must be beyond the window before a list without a filter counts as read. A single one
// may have appeared late, and be older than its neighbors.
const enoughBeyond = 100

// isPast reports whether the rest of the list is beyond the window.
func (l *List) isPast(w Walk) bool {
	if w.Beyond < enoughBeyond {
		return false
	}
	return l.Order == NewestFirst && !l.filtersFrom || l.Order == OldestFirst && !l.filtersTo
}

// isBeyond reports whether an item's time is beyond the end of the window that the walk goes to.
func (l *List) isBeyond(w Walk, at time.Time) bool {
	if l.Order == NewestFirst {
		return at.Before(w.From)
	}
	return !at.Before(w.To)
}

var errCircle = Errorf(KindRepeated, "the list goes in circles: a page came again. Check next and the query of the definition")

// after returns the walk after a page with these items and this cursor. A circle of cursors of any length is found by Brent's
// algorithm, whose mark moves to the current cursor whenever the number of pages is a power of two.
func (w Walk) after(cursor string, items []byte) (Walk, *Error) {
	next := w
	next.Pages++
	if len(items) > 0 {
		if next.Last = hashOf(items); next.Last == w.Last {
			return Walk{}, errCircle
		}
	}
	hash := hashOf([]byte(cursor))
	if cursor != "" && (cursor == w.Cursor || hash == w.Mark) {
		return Walk{}, errCircle
	}
	if bits.OnesCount(uint(next.Pages)) == 1 {
		next.Mark = hash
	}
	next.Cursor = cursor
	return next, nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
