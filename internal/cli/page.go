package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/operator/httpapi"
)

// Page is a command that prints rows of a route, as a table or as the route's JSON. The caller adds filters: see AddFilter.
type Page[Row any] struct {
	Short, Example, Route string
	// Limit is the default page size; 0 for all rows. IsOne: only the first page can be read.
	Limit int
	IsOne bool
	// Query adds what a filter can't say; nil for nothing.
	Query func(*cobra.Command, url.Values) error
	// Heading and Cells define the table.
	Heading []string
	Cells   func(Row) []string
}

// rows are the items that a route returns.
type rows struct {
	httpapi.List[json.RawMessage]

	// ChangedSince is set if the list is complete only from then on.
	ChangedSince time.Time `json:"changed_since,omitzero"`
}

// Command returns the command.
func (p Page[Row]) Command() *cobra.Command {
	limit, cursor := p.Limit, ""
	command := WithAPI(&cobra.Command{Use: "list", Short: p.Short, Example: p.Example, Args: cobra.NoArgs},
		func(c *cobra.Command, a *API, _ []string) error {
			query, err := a.FiltersOf(c.Context(), c)
			if err == nil && p.Query != nil {
				err = p.Query(c, query)
			}
			if err != nil {
				return err
			}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			found, err := a.readPage(c, p.Route, query, limit)
			if err != nil {
				return err
			}
			WarnUnknownProvider(c, a.Cfg, query.Get("provider"), len(found.Items))
			return p.print(c, found)
		})
	if p.Limit > 0 {
		AddLimitFlag(command, &limit, p.Limit)
	}
	if p.Limit > 0 && !p.IsOne {
		command.Flags().StringVar(&cursor, "cursor", "", "the next page: the cursor that the previous page printed")
	}
	AddJSONFlag(command)
	AddWideFlag(command)
	return command
}

// ReadAll reads all pages of a route.
func ReadAll[Row any](c *cobra.Command, a *API, route string, query url.Values) (all []Row, err error) {
	found, err := a.readPage(c, route, query, math.MaxInt)
	all = []Row{}
	for _, item := range found.Items {
		var row Row
		err = errors.Join(err, json.Unmarshal(item, &row))
		all = append(all, row)
	}
	return all, err
}

// readPage reads as many rows, which may be several pages of the route.
func (a *API) readPage(c *cobra.Command, route string, query url.Values, limit int) (all rows, err error) {
	all.Items = []json.RawMessage{}
	for {
		most := min(limit-len(all.Items), httpapi.MaxLimit)
		if limit > 0 {
			query.Set("limit", strconv.Itoa(most))
		}
		var page rows
		if err := a.Read(c.Context(), route, query, &page); err != nil {
			return all, err
		}
		isShort := len(page.Items) < most // a search has reached its limit
		page.Items = append(all.Items, page.Items...)
		all = page
		if all.Next == "" || limit > 0 && (isShort || len(all.Items) >= limit) {
			return all, nil
		}
		query.Set("cursor", all.Next)
	}
}

func (p Page[Row]) print(c *cobra.Command, found rows) error {
	if !found.ChangedSince.IsZero() {
		fmt.Fprintf(StatusWriter(c), "too many changes: the list only covers those since %s\n", found.ChangedSince.Format(time.RFC3339))
	}
	return errors.Join(Print(c, found, func(w io.Writer) error {
		table := NewTable(w, p.Heading...)
		for _, item := range found.Items {
			var row Row
			if err := json.Unmarshal(item, &row); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			table.Row(p.Cells(row)...)
		}
		return table.Flush()
	}), printNote(c, found.Note), printNext(c, found.Next))
}

// Show reads a route and prints its response: as it is with --json, and otherwise as text.
func Show[T any](c *cobra.Command, a *API, path string, query url.Values, text func(io.Writer, T) error) error {
	var raw json.RawMessage
	if err := a.Read(c.Context(), path, query, &raw); err != nil {
		return err
	}
	return PrintAnswer(c, raw, text)
}

// PrintAnswer prints a response: as it is with --json, and otherwise as text.
func PrintAnswer[T any](c *cobra.Command, raw json.RawMessage, text func(io.Writer, T) error) error {
	return Print(c, raw, func(w io.Writer) error {
		var answer T
		if err := json.Unmarshal(raw, &answer); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		return text(w, answer)
	})
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
