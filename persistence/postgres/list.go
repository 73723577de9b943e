package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
)

// List builds the statement of a page. It includes only conditions that restrict, so that PostgreSQL can choose the index for
// exactly those.
type List struct {
	Selection  string
	Conditions []string
	Args       []any
}

// NewList makes the list of what a statement without conditions selects.
func NewList(selection string) *List { return &List{Selection: selection} }

// Equal restricts a column to a value; an empty one does not restrict.
func (l *List) Equal(column, value string) {
	if value != "" {
		l.Where(column+" = %s", Clean(value))
	}
}

// OfSource restricts to a sender within a provider; an empty one does not restrict. The indexes of sources contain only rows with
// a source, which PostgreSQL can't infer from an argument.
func (l *List) OfSource(source string) {
	if source != "" {
		l.Where("source = %s AND source <> ''", Clean(source))
	}
}

// Between restricts a time to since ≤ column < until; a zero time does not restrict.
func (l *List) Between(column string, since, until time.Time) {
	if !since.IsZero() {
		l.Where(column+" >= %s", since)
	}
	if !until.IsZero() {
		l.Where(column+" < %s", until)
	}
}

// Where adds a condition; each %s stands for an argument.
func (l *List) Where(condition string, args ...any) {
	names := make([]any, len(args))
	for i, arg := range args {
		l.Args = append(l.Args, arg)
		names[i] = fmt.Sprintf("$%d", len(l.Args))
	}
	l.Conditions = append(l.Conditions, fmt.Sprintf(condition, names...))
}

// Page returns the statement of one page and its arguments.
func (l *List) Page(order string, limit int) (sql string, args []any) {
	if limit <= 0 || limit > event.MaxPage {
		limit = event.MaxPage
	}
	return l.Statement() + fmt.Sprintf(" ORDER BY %s LIMIT %d", order, limit), l.Args
}

// Statement returns the statement without an order, for counts.
func (l *List) Statement() string {
	if len(l.Conditions) == 0 {
		return l.Selection
	}
	return l.Selection + " WHERE " + strings.Join(l.Conditions, " AND ")
}

// StateIfMatching makes the conditions so far a column of the table: state is null for a row that doesn't meet them. With that, a
// limit bounds the rows that are read, not those that are found.
func (l *List) StateIfMatching(state, from string) {
	l.Selection = "SELECT " + state + " AS state FROM " + from
	if len(l.Conditions) > 0 {
		l.Selection = "SELECT CASE WHEN " + strings.Join(l.Conditions, " AND ") + " THEN " + state + " END AS state FROM " + from
		l.Conditions = nil
	}
}

// Newest returns the statement of the first rows of an order and its arguments. Unlike Page, it has no limit of its own.
func (l *List) Newest(order string, rows int) (sql string, args []any) {
	return l.Statement() + fmt.Sprintf(" ORDER BY %s LIMIT %d", order, rows), l.Args
}

// QueueCounts queues a statement that counts the rows of another one by its column state, for the given states; null doesn't
// count. If the other one returns more than most rows, the counts are minimums: its own limit is most + 1. With 0 it has none.
func QueueCounts(b *pgx.Batch, counts event.Counts, sql string, args []any, most int64, states ...string) {
	b.Queue(`SELECT coalesce(state, ''), count(*) FROM (`+sql+`) AS newest GROUP BY 1`, args...).Query(func(rows pgx.Rows) error {
		found := map[string]int64{}
		var state string
		var n, read int64
		_, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { found[state] = n; read += n; return nil })
		for _, state := range states {
			counts[state] = event.Count{N: found[state], AtLeast: most > 0 && read > most}
		}
		return err
	})
}
