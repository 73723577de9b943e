package feed

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Cursor is a position in the feed. The zero value is before the first change.
type Cursor struct {
	Epoch int32
	// XID is a PostgreSQL transaction ID (xid8), Seq a row that it wrote, and Item the number of changes in that row before the
	// position. If they don't exist, the position is before the next change.
	XID  uint64
	Seq  int64
	Item int
}

var errInvalidCursor = errors.New("invalid cursor")

// String encodes the cursor as opaque text.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%d.%d", c.Epoch, c.XID, c.Seq, c.Item))
}

// maxItem exceeds the changes of any row, so that a forged cursor can't read more than a valid one.
const maxItem = 1 << 24

// ParseCursor is the inverse of String.
func ParseCursor(text string) (c Cursor, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Cursor{}, errInvalidCursor
	}
	_, err = fmt.Sscanf(string(raw), "%d.%d.%d.%d", &c.Epoch, &c.XID, &c.Seq, &c.Item)
	if err != nil || c.String() != text || c.Epoch < 1 || c.Seq < 0 || c.Item < 0 || c.Item > maxItem {
		return Cursor{}, errInvalidCursor
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
