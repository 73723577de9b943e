package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// Listing is a command that prints a page of rows, as a table or as the operator API's JSON. The caller adds the filters as
// flags.
type Listing[Row, Place any] struct {
	Short, Example string
	// Read returns at most limit rows after a position; nil is the first page.
	Read func(c *cobra.Command, t *Tools, limit int, after *Place) ([]Row, error)
	// Limit is the default page size; 0 means all rows.
	Limit int
	// Place returns a row's position; nil for a list with a single page.
	Place func(Row) Place
	// LookedTo returns where Read stopped before its page was full; nil if it doesn't.
	LookedTo func() *Place
	// Note says what is missing from Read's last page; nil for nothing.
	Note func() string
	// View converts a row to the API's view; nil keeps it.
	View func(Row) any
	// Heading and Cells define the table.
	Heading []string
	Cells   func(Row) []string
}

// Command returns the command. Lists without a Limit are short.
func (l Listing[Row, Place]) Command() *cobra.Command {
	limit, cursor := l.Limit, ""
	command := &cobra.Command{
		Use: "list", Short: l.Short, Example: l.Example, Args: cobra.NoArgs,
		RunE: WithTools(func(c *cobra.Command, t *Tools, _ []string) error {
			var after *Place
			if cursor != "" {
				var err error
				if after, err = httpapi.DecodeCursor[Place](cursor); err != nil {
					return UsageError(c, fmt.Errorf("invalid --cursor %q: use the one that the previous page printed", cursor))
				}
			}
			return l.show(c, t, limit, after)
		}),
	}
	if l.Limit > 0 {
		AddLimitFlag(command, &limit, l.Limit)
	}
	if l.Place != nil {
		command.Flags().StringVar(&cursor, "cursor", "", "the next page: the cursor that the previous page printed")
	}
	AddJSONFlag(command)
	AddWideFlag(command)
	return command
}

func (l Listing[Row, Place]) show(c *cobra.Command, t *Tools, limit int, after *Place) error {
	most := limit
	if l.Place != nil {
		most = min(limit+1, event.MaxPage) // one more shows whether there is a next page
	}
	rows, err := l.Read(c, t, most, after)
	if err != nil {
		return err
	}
	provider, _ := c.Flags().GetString(providerFlag) // no flag means no provider
	WarnUnknownProvider(c, t.Cfg, provider, len(rows))
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
	}), printNote(c, page.Note), printNext(c, page.Next))
}

// page cuts the rows to the page size and sets the next page's cursor.
func (l Listing[Row, Place]) page(rows []Row, limit int) httpapi.List[any] {
	view := func(r Row) any { return r }
	if l.View != nil {
		view = l.View
	}
	if l.Place == nil || l.Limit == 0 {
		return httpapi.NewPage(rows, max(limit, len(rows)), view, func(Row) any { return nil })
	}
	page := httpapi.NewPage(rows, limit, view, l.Place)
	if limit == event.MaxPage && len(rows) == limit {
		page.ContinueAt(true, l.Place(rows[limit-1]))
	}
	if l.LookedTo != nil && l.LookedTo() != nil {
		page.ContinueAt(page.Next == "", l.LookedTo())
	}
	return page
}

func printNote(c *cobra.Command, note string) error {
	if note == "" || WantsJSON(c) {
		return nil
	}
	_, err := fmt.Fprintln(c.ErrOrStderr(), note)
	return err
}

func printNext(c *cobra.Command, next string) error {
	if next == "" || WantsJSON(c) {
		return nil
	}
	_, err := fmt.Fprintf(c.ErrOrStderr(), "more: --cursor %s\n", next)
	return err
}

// LastID returns the ID that ended the page before, or 0.
func LastID(after *int64) int64 {
	if after == nil {
		return 0
	}
	return *after
}
