package movein

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

const (
	// pageSize is how many items of a list are asked for at a time.
	pageSize = 100
	// maxItems bounds the items of a page, and maxKept those of a list that are kept in memory.
	maxItems = 10_000
	maxKept  = 100_000
)

// page is an answer with a part of a list.
type page[T any] interface {
	part() []T
	// next returns the cursor of the page that follows, if there is one.
	next() (cursor string, hasNext bool)
}

// eachPage reads all pages of a list, one after the other. The parameters set the size of a page and its cursor.
func eachPage[P page[T], T any](
	ctx context.Context, c *client, path string, query url.Values, size, cursor string, each func([]T) error,
) error {
	query.Set(size, strconv.Itoa(pageSize))
	var read pages
	for {
		var one P
		if err := c.get(ctx, path, query, &one); err != nil {
			return err
		}
		if err := each(one.part()); err != nil {
			return err
		}
		next, hasNext := one.next()
		if !hasNext {
			return nil
		}
		if err := read.next(next); err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		query.Set(cursor, next)
	}
}

// eachOf calls each for every item of a page.
func eachOf[T any](each func(T) error) func([]T) error {
	return func(part []T) error {
		for _, one := range part {
			if err := each(one); err != nil {
				return err
			}
		}
		return nil
	}
}

// items are the items of a page. Empty ones take much more memory than their text.
type items[T any] []T

// UnmarshalJSON reads up to maxItems.
func (all *items[T]) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	switch start, err := in.Token(); {
	case err != nil:
		return err
	case start == nil: // null
		return nil
	case start != json.Delim('['):
		return errors.New("a list isn't a JSON array")
	}
	for in.More() {
		if len(*all) == maxItems {
			return fmt.Errorf("a page has more than %d items", maxItems)
		}
		var one T
		if err := in.Decode(&one); err != nil {
			return err
		}
		*all = append(*all, one)
	}
	return nil
}

// pages refuses a list that never ends, or whose end isn't known. It compares a cursor with an earlier one that moves ahead in
// growing steps, which finds every repetition.
type pages struct {
	before string
	n, at  int
}

func (p *pages) next(cursor string) error {
	switch {
	case cursor == "":
		return errors.New("a list has another page, but no cursor for it")
	case p.n > 0 && cursor == p.before:
		return errors.New("the pages of a list repeat")
	}
	if p.n++; p.n >= p.at {
		p.before, p.at = cursor, 2*p.n
	}
	return nil
}

func checkKept(n int) error {
	if n > maxKept {
		return fmt.Errorf("a list has more than %d items", maxKept)
	}
	return nil
}
