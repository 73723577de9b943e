package postgres

import (
	"github.com/jackc/pgx/v5"
)

// Collect stores the rows of a queued statement in a slice.
func Collect[T any](into *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, scan)
		return err
	}
}

// ForEach scans each row of a queued statement into columns, and then calls each.
func ForEach(columns []any, each func()) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, columns, func() error { each(); return nil })
		return err
	}
}

// Column returns a value of each element, as an array for unnest.
func Column[S, T any](of []S, value func(S) T) []T {
	all := make([]T, len(of))
	for i, one := range of {
		all[i] = value(one)
	}
	return all
}

// Annotate adds the operation to the error that a function returns: see Failure.
func Annotate(err *error, doing string) { *err = Failure(doing, *err) }
