package read

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres"
)

// searchedEvents selects the events that a search reads, with the size of each.
const searchedEvents = `SELECT id, octet_length(raw_body) AS size`

// SearchEvents returns matching events among the newest. With q.DeliveryStatus it searches event.MaxSearchedDeliveries
// deliveries. With q.Text it searches the bodies of event.MaxSearched events, up to event.MaxSearchedBytes together. Bodies are
// stored as received, so it finds any bytes in any of them, case-sensitively. If the text has characters that JSON may escape, it
// finds the escaped form, too.
func (s *Store) SearchEvents(ctx context.Context, q event.RecordQuery) (found event.FoundEvents, err error) {
	defer postgres.Annotate(&err, "search events")
	all := q
	all.Limit = event.MaxSearched
	list, err := s.eventList(ctx, all)
	if err != nil {
		return found, err
	}
	if q.Text != "" {
		if found.SearchedTo, err = s.endOfSearch(ctx, list); err != nil {
			return found, err
		}
		if found.SearchedTo != "" {
			list.Where("id >= %s::uuid", found.SearchedTo)
		}
		whereBodyHas(list, q.Text)
	}
	if found.Records, err = s.eventPage(ctx, list, q); err != nil {
		return found, err
	}
	switch n := len(found.Records); {
	case n > 0 && n == q.Limit: // it has stopped earlier
		found.SearchedTo = found.Records[n-1].Receipt.ID
	case found.SearchedTo == "" && walksDeliveries(q):
		found.SearchedTo, err = s.endOfDeliveries(ctx, q)
	}
	return found, err
}

// endOfSearch returns the ID of the last event that is searched; empty if all are.
func (s *Store) endOfSearch(ctx context.Context, of *postgres.List) (id string, err error) {
	list := &postgres.List{Selection: searchedEvents + of.Selection, Conditions: of.Conditions, Args: of.Args}
	newest := list.Statement() + " ORDER BY id DESC LIMIT " + strconv.Itoa(event.MaxSearched+1)
	sql := `
SELECT id::text FROM (
       SELECT id, sum(size) OVER newer AS size, row_number() OVER newer AS n, lead(id) OVER newer AS older
         FROM (` + newest + `) AS newest WINDOW newer AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING)) AS summed
 WHERE older IS NOT NULL AND (size > ` + strconv.Itoa(event.MaxSearchedBytes) + ` OR n >= ` + strconv.Itoa(event.MaxSearched) + `)
 ORDER BY summed.id DESC LIMIT 1`
	_, err = pgx.ForEachRow(s.db.Rows(ctx, sql, list.Args...), []any{&id}, func() error { return nil })
	return id, err
}

func whereBodyHas(l *postgres.List, text string) {
	const has = "position(%s::bytea IN raw_body) > 0"
	if escaped := escapedText(text); !bytes.Equal(escaped, []byte(text)) {
		l.Where("("+has+" OR "+has+")", []byte(text), escaped)
		return
	}
	l.Where(has, []byte(text))
}

// escapedText returns a text as JSON that escapes all non-ASCII characters.
func escapedText(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		return []byte(text)
	}
	var escaped []byte
	for _, r := range string(quoted[1 : len(quoted)-1]) {
		switch {
		case r < utf8.RuneSelf:
			escaped = append(escaped, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = appendUnit(appendUnit(escaped, high), low)
		default:
			escaped = appendUnit(escaped, r)
		}
	}
	return escaped
}

func appendUnit(to []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(to, '\\', 'u', digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}
