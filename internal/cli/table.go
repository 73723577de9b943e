package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Shorten keeps a line of a table a line.
func Shorten(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// FlushAll writes the tables that are not empty, each after a blank line.
func FlushAll(tables ...*Table) error {
	for _, t := range tables {
		if t.rows == 0 {
			continue
		}
		fmt.Fprintln(t.to)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Table is aligned text with a heading.
type Table struct {
	w    *tabwriter.Writer
	rows int
	to   io.Writer
}

// NewTable begins a table.
func NewTable(w io.Writer, heading ...string) *Table {
	t := &Table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), to: w}
	fmt.Fprintln(t.w, strings.Join(heading, "\t"))
	return t
}

// Row adds a line. A terminal obeys control characters, so none of them reaches it.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(Printable(c), "\n", " ")
	}
	t.rows++
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// Flush writes the table, or says that it is empty.
func (t *Table) Flush() error {
	if t.rows == 0 {
		_, err := fmt.Fprintln(t.to, "none")
		return err
	}
	return t.w.Flush()
}
