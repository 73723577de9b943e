package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is aligned text with a heading.
type table struct {
	w    *tabwriter.Writer
	rows int
	to   io.Writer
}

func newTable(w io.Writer, heading ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), to: w}
	fmt.Fprintln(t.w, strings.Join(heading, "\t"))
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(printable(c), "\n", " ")
	}
	t.rows++
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// flush writes the table, or says that it is empty.
func (t *table) flush() error {
	if t.rows == 0 {
		_, err := fmt.Fprintln(t.to, "none")
		return err
	}
	return t.w.Flush()
}
