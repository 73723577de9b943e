package listen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"holdfast/event/feed"
)

// message is a server-sent event; one without data only moves the position.
type message struct{ name, id, data string }

// maxLine bounds a line of the stream, in bytes.
const maxLine = 1 << 20

// messages calls take for each message of a stream until it ends or take fails.
func messages(stream io.Reader, take func(message) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	var m message
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if err := take(m); err != nil {
				return err
			}
			m = message{}
		case name == "event":
			m.name = value
		case name == "id":
			m.id = value
		case name == "data":
			m.data += value
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

var (
	errResync  = errors.New("the feed was reset")
	errSkipped = errors.New("some changes were skipped")
)

// change returns a message's change, if it has one. For skipped changes, place is where they begin.
func (m message) change() (c feed.Change, place string, err error) {
	switch m.name {
	case "resync":
		return c, "", errResync
	case "skipped":
		var gap struct{ After string }
		if err := json.Unmarshal([]byte(m.data), &gap); err != nil {
			return c, "", fmt.Errorf("read stream: %w", err)
		}
		return c, gap.After, errSkipped
	}
	if m.data != "" {
		if err := json.Unmarshal([]byte(m.data), &c); err != nil {
			return c, "", fmt.Errorf("read stream: %w", err)
		}
	}
	return c, m.id, nil
}
