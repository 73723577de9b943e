package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Part is a part of a file that a Reader can read: whole lines, unchanged, and those of CSV below the file's heading.
type Part struct {
	Text []byte
	// Skipped is for Reader.Skipped.
	Skipped int64
	// TooLong is a line after the text that is too long to be read; nil if there is none.
	TooLong *Problem
}

// The bounds of a part. A longer line has a part of its own.
const (
	linesOfPart = 200
	bytesOfPart = 4 << 20
	maxHeading  = 64 << 10
	// MaxPart bounds a part, in bytes.
	MaxPart = MaxLine + maxHeading
)

// EachPart cuts a file into parts, in constant memory. The error is that of the file, or of each.
func EachPart(in io.Reader, format Format, each func(Part) error) error {
	c := cutter{lines: bufio.NewReaderSize(in, 64<<10), isCSV: format == FormatCSV, each: each}
	if c.isCSV {
		if err := c.readHeading(); err != nil {
			return err
		}
	}
	for {
		row, err := c.next()
		isLast := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, errTooLong):
			err = c.addTooLong()
		case err == nil || isLast:
			err = c.add(row)
		}
		if err != nil {
			return err
		}
		if isLast {
			return c.flush(nil)
		}
	}
}

// cutter collects the next part.
type cutter struct {
	lines *bufio.Reader
	isCSV bool
	each  func(Part) error

	// read counts the lines of the file so far, and ended those up to the end of the last part.
	read, ended int64
	text        []byte
	rows        int
	// heading is what every part of CSV begins with: so many lines. isLater is true after the first part.
	heading      []byte
	headingLines int64
	isLater      bool
}

// row is a line, or the lines of a row of CSV.
type row struct {
	text  []byte
	lines int64
}

// next returns the next line that isn't too long.
func (c *cutter) next() (next row, err error) {
	if c.isCSV {
		next, err = c.nextOfCSV()
	} else if next.text, err = readLine(c.lines); len(next.text) > 0 || errors.Is(err, errTooLong) {
		next.lines = 1
	}
	if c.read += next.lines; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errTooLong) {
		err = fmt.Errorf("read line %d: %w", c.read+1, err)
	}
	return next, err
}

// nextOfCSV returns the lines up to the first end of a line that isn't within quotes. A Reader finds out whether they are a
// record.
func (c *cutter) nextOfCSV() (next row, err error) {
	for isQuoted := false; ; {
		part, err := c.lines.ReadSlice('\n')
		if next.text = append(next.text, part...); len(next.text) > MaxLine {
			return next, errTooLong
		}
		if bytes.Count(part, []byte{'"'})%2 == 1 {
			isQuoted = !isQuoted
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(next.text) == 0:
			return next, err
		case err != nil || !isQuoted:
			next.lines++
			return next, err
		default:
			next.lines++
		}
	}
}

// readHeading reads up to the first row.
func (c *cutter) readHeading() error {
	for {
		row, err := c.next()
		atEnd := errors.Is(err, io.EOF)
		c.heading = append(c.heading, row.text...)
		switch {
		case len(c.heading) > maxHeading || errors.Is(err, errTooLong):
			return unreadable("read the heading", errRow)
		case err != nil && !atEnd:
			return err
		case atEnd || len(bytes.Trim(bytes.TrimPrefix(c.heading, []byte(byteOrderMark)), "\r\n")) > 0:
			c.text, c.headingLines, c.ended = bytes.Clone(c.heading), c.read, c.read
			return nil
		}
	}
}

func (c *cutter) add(r row) error {
	if c.rows == linesOfPart || c.rows > 0 && len(c.text)+len(r.text) > bytesOfPart {
		c.read -= r.lines
		if err := c.flush(nil); err != nil {
			return err
		}
		c.read += r.lines
	}
	if len(r.text) > 0 {
		c.text = append(c.text, r.text...)
		c.rows++
	}
	return nil
}

func (c *cutter) addTooLong() error {
	if c.isCSV {
		return unreadable("read CSV", errRow)
	}
	return c.flush(&Problem{Line: c.read, Reason: fmt.Sprintf("is longer than %d bytes", MaxLine)})
}

// flush ends the part. The first one may be no more than a heading, so that the heading is checked.
func (c *cutter) flush(tooLong *Problem) error {
	part := Part{Text: c.text, Skipped: c.ended - c.headingLines, TooLong: tooLong}
	isEmpty := c.rows == 0 && (c.isLater || len(c.heading) == 0)
	c.text, c.rows, c.ended, c.isLater = bytes.Clone(c.heading), 0, c.read, true
	if isEmpty && tooLong == nil {
		return nil
	}
	return c.each(part)
}
