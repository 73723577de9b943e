package feed

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Cursor is a place in the feed: in an epoch, at an item of what a transaction has told. The zero value is no place.
type Cursor struct {
	Epoch int32
	// XID is the ID of the transaction (an xid8 of PostgreSQL), Seq one of the rows that it has written, and Item what of that row
	// comes before the place. Where there is no such thing, the place is before the next one.
	XID  uint64
	Seq  int64
	Item int
}

// errBadCursor is the error of what is no cursor.
var errBadCursor = errors.New("this is no cursor of the feed")

// String is the cursor as text, for others to keep and not to read.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%d.%d", c.Epoch, c.XID, c.Seq, c.Item))
}

// maxItem is more than what one row tells of: who makes a cursor up reads no more by it than others do.
const maxItem = 1 << 24

// ParseCursor reads String.
func ParseCursor(text string) (c Cursor, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Cursor{}, errBadCursor
	}
	_, err = fmt.Sscanf(string(raw), "%d.%d.%d.%d", &c.Epoch, &c.XID, &c.Seq, &c.Item)
	if err != nil || c.String() != text || c.Epoch < 1 || c.Seq < 0 || c.Item < 0 || c.Item > maxItem {
		return Cursor{}, errBadCursor
	}
	return c, nil
}

// MarshalText implements encoding.TextMarshaler.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*c = Cursor{}
		return nil
	}
	*c, err = ParseCursor(string(text))
	return err
}
