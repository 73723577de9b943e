package persistence

import (
	"fmt"
	"strings"
	"time"

	"holdfast/event"
)

// list builds the statement of a page. Only conditions that restrict are in it, so that PostgreSQL can choose the
// index that serves exactly them.
type list struct {
	selection  string
	conditions []string
	args       []any
}

func newList(selection string) *list { return &list{selection: selection} }

// equal restricts a column to a value; an empty one does not restrict.
func (l *list) equal(column, value string) {
	if value != "" {
		l.where(column+" = %s", clean(value))
	}
}

// ofSource restricts to a sender within a provider; an empty one does not restrict. The indexes of sources hold only rows that
// have one, and PostgreSQL does not know that of an argument.
func (l *list) ofSource(source string) {
	if source != "" {
		l.where("source = %s AND source <> ''", clean(source))
	}
}

// between restricts a time to since ≤ column < until; a zero time does not restrict.
func (l *list) between(column string, since, until time.Time) {
	if !since.IsZero() {
		l.where(column+" >= %s", since)
	}
	if !until.IsZero() {
		l.where(column+" < %s", until)
	}
}

// where adds a condition; each %s stands for an argument.
func (l *list) where(condition string, args ...any) {
	names := make([]any, len(args))
	for i, arg := range args {
		l.args = append(l.args, arg)
		names[i] = fmt.Sprintf("$%d", len(l.args))
	}
	l.conditions = append(l.conditions, fmt.Sprintf(condition, names...))
}

// page is the statement of one page and its arguments.
func (l *list) page(order string, limit int) (sql string, args []any) {
	if limit <= 0 || limit > event.MaxPage {
		limit = event.MaxPage
	}
	return l.statement() + fmt.Sprintf(" ORDER BY %s LIMIT %d", order, limit), l.args
}

// statement is the statement without an order, for what is counted.
func (l *list) statement() string {
	if len(l.conditions) == 0 {
		return l.selection
	}
	return l.selection + " WHERE " + strings.Join(l.conditions, " AND ")
}

// utc is t in UTC.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
