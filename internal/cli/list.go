package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/operator/exchange"
)

// Listing is a command that shows a page of rows: in a table, or as JSON as the operator API has it. Its filters are flags that
// the caller adds.
type Listing[Row, Place any] struct {
	Short, Example string
	// Read gives at most limit rows, those behind a place; nil is the first page.
	Read func(c *cobra.Command, t *Tools, limit int, after *Place) ([]Row, error)
	// Limit is how many rows a page has; 0 is all that there are.
	Limit int
	// Place is where a row stands in the list; nil: there is no page but the first.
	Place func(Row) Place
	// LookedTo is where Read has stopped looking before its page was full; nil: it does not.
	LookedTo func() *Place
	// Note says what the page that Read gave last lacks; nil: nothing.
	Note func() string
	// View is a row as the API shows it; nil: as it is.
	View func(Row) any
	// Heading is that of a Table, and Cells are a row of it.
	Heading []string
	Cells   func(Row) []string
}

// Command is the command. Lists without a Limit are short.
func (l Listing[Row, Place]) Command() *cobra.Command {
	limit, cursor := l.Limit, ""
	command := &cobra.Command{
		Use: "list", Short: l.Short, Example: l.Example, Args: cobra.NoArgs,
		RunE: WithTools(func(c *cobra.Command, t *Tools, _ []string) error {
			var after *Place
			if cursor != "" {
				var err error
				if after, err = exchange.DecodeCursor[Place](cursor); err != nil {
					return Misuse(c, fmt.Errorf("--cursor %q: want what the page before has named", cursor))
				}
			}
			return l.show(c, t, limit, after)
		}),
	}
	if l.Limit > 0 {
		AddLimitFlag(command, &limit, l.Limit)
	}
	if l.Place != nil {
		command.Flags().StringVar(&cursor, "cursor", "", "the next page: what the page before has named")
	}
	AddJSONFlag(command)
	AddWideFlag(command)
	return command
}

func (l Listing[Row, Place]) show(c *cobra.Command, t *Tools, limit int, after *Place) error {
	most := limit
	if l.Place != nil {
		most = min(limit+1, event.MaxPage) // one more says that there is a next page
	}
	rows, err := l.Read(c, t, most, after)
	if err != nil {
		return err
	}
	provider, _ := c.Flags().GetString(providerFlag) // no such flag is no provider
	DoubtProvider(c, t.Cfg, provider, len(rows))
	page := l.page(rows, limit)
	if l.Note != nil {
		page.Note = l.Note()
	}
	return errors.Join(Print(c, page, func(w io.Writer) error {
		table := NewTable(w, l.Heading...)
		for _, row := range rows[:len(page.Items)] {
			table.Row(l.Cells(row)...)
		}
		return table.Flush()
	}), tellNote(c, page.Note), tellNext(c, page.Next))
}

// page cuts the rows to what is shown, and names the next page.
func (l Listing[Row, Place]) page(rows []Row, limit int) exchange.List[any] {
	view := func(r Row) any { return r }
	if l.View != nil {
		view = l.View
	}
	if l.Place == nil || l.Limit == 0 {
		return exchange.Cut(rows, max(limit, len(rows)), view, func(Row) any { return nil })
	}
	page := exchange.Cut(rows, limit, view, l.Place)
	if limit == event.MaxPage && len(rows) == limit {
		page.GoOn(true, l.Place(rows[limit-1]))
	}
	if l.LookedTo != nil && l.LookedTo() != nil {
		page.GoOn(page.Next == "", l.LookedTo())
	}
	return page
}

func tellNote(c *cobra.Command, note string) error {
	if note == "" || AsksJSON(c) {
		return nil
	}
	_, err := fmt.Fprintln(c.ErrOrStderr(), note)
	return err
}

func tellNext(c *cobra.Command, next string) error {
	if next == "" || AsksJSON(c) {
		return nil
	}
	_, err := fmt.Fprintf(c.ErrOrStderr(), "there are more: --cursor %s\n", next)
	return err
}

// Behind is the number that ended the page before; 0 is none.
func Behind(after *int64) int64 {
	if after == nil {
		return 0
	}
	return *after
}
