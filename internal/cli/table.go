package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/printable"
)

// Shorten keeps a cell on one line.
func Shorten(s string) string { return printable.Shorten(s, 100) }

// FlushAll writes the tables that are not empty, each after a blank line.
func FlushAll(tables ...*Table) error {
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		fmt.Fprintln(t.to)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Table is aligned text with a heading. On a terminal it is as wide as that, if possible.
type Table struct {
	to      io.Writer
	screen  screen
	columns []column
	rows    [][]string
}

// column is one column of a table. Its heading may end with a mark: "ID!" is never cut, because users copy it; "RUN+" is left
// out on a terminal; "AT/AGE~" is a time, which a terminal shows as an age, under the second name if there is one.
type column struct {
	head                 string
	whole, extra, moment bool
}

// NewTable begins a table; see column for the marks of headings.
func NewTable(w io.Writer, heading ...string) *Table {
	t := &Table{to: w}
	t.screen, _ = w.(screen)
	for _, head := range heading {
		name, short, _ := strings.Cut(strings.TrimRight(head, "!+~"), "/")
		if t.screen.width > 0 {
			name = cmp.Or(short, name)
		}
		t.columns = append(t.columns, column{
			head: name, whole: strings.Contains(head, "!"), extra: strings.Contains(head, "+"),
			moment: strings.Contains(head, "~"),
		})
	}
	return t
}

// Row adds a row and escapes control characters, which a terminal would obey.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(c))
		if t.screen.width > 0 && t.columns[i].moment {
			cells[i] = age(cells[i])
		}
	}
	t.rows = append(t.rows, cells)
}

// age formats how long ago a time was; other texts stay unchanged.
func age(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	if ahead := time.Until(at); ahead > 0 {
		return "in " + span(ahead)
	}
	return span(time.Since(at))
}

// span formats a duration in its largest unit.
func span(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if d >= 2*unit.size {
			return fmt.Sprintf("%d%s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Flush writes the table, or says that it is empty.
func (t *Table) Flush() error {
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(t.to, "none")
		return err
	}
	var heading []string
	for _, c := range t.columns {
		heading = append(heading, c.head)
	}
	widths := t.widths(heading)
	for _, row := range append([][]string{heading}, t.rows...) {
		if _, err := fmt.Fprintln(t.to, t.line(row, widths)); err != nil {
			return err
		}
	}
	return nil
}

// line pads the cells of a row and cuts those that are too long. It leaves out columns of width 0.
func (t *Table) line(row []string, widths []int) string {
	var line strings.Builder
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if line.Len() > 0 {
			line.WriteString("  ")
		}
		shown := cell
		if utf8.RuneCountInString(cell) > widths[i] {
			shown = printable.Shorten(cell, widths[i]-1)
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(shown))
		line.WriteString(Tint(t.to, cell, shown) + pad)
	}
	return strings.TrimRight(line.String(), " ")
}

// widths fits the columns to their cells and to the screen.
func (t *Table) widths(heading []string) []int {
	const least = 8 // of columns that can be cut
	widths := make([]int, len(heading))
	for _, row := range append([][]string{heading}, t.rows...) {
		for i, cell := range row {
			if !t.columns[i].extra || t.screen.width == 0 {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell), 1)
			}
		}
	}
	for t.screen.width > 0 && lineWidth(widths) > t.screen.width {
		widest := -1
		for i, c := range t.columns {
			if !c.whole && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func lineWidth(widths []int) (all int) {
	for _, w := range widths {
		if w > 0 {
			all += w + 2
		}
	}
	return all - 2
}
