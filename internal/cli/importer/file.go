package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/archive"
	"holdfast/internal/cli"
	"holdfast/operator/importer"
)

// source is an input file.
type source struct {
	format   importer.Format
	record   operation.ImportRecord
	provider string
	// reader is read instead of a file.
	reader io.ReadCloser
}

func (s *source) addFlags(c *cobra.Command) {
	cli.AddChoiceFlag(c, &s.format, "format", "the file's format, if its name doesn't show it", importer.Formats())
	cli.AddChoiceFlag(c, &s.record, "record", "the record of lines without one", importer.Records())
	c.Flags().StringVar(&s.provider, "default-provider", "", "the provider of lines without one")
}

const ndjson = "application/x-ndjson"

// send sends a file in parts, and prints the mistakes that are found. First it asks check with an empty body: while a large one
// is being sent, a refusal may not be readable.
func (s *source) send(c *cobra.Command, a *cli.API, name, check string, r *reading, use func(upload) error) error {
	in, err := s.open(c, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := (upload{ctx: c.Context(), api: a, mediaType: ndjson, text: []byte{}}).to(check, nil); err != nil {
		return err
	}
	r.file, r.out, r.Records = name, c.ErrOrStderr(), map[operation.ImportRecord]int64{}
	format := cmp.Or(s.format, importer.FormatOf(name))
	err = importer.EachPart(in, format, func(p importer.Part) error {
		u := upload{ctx: c.Context(), api: a, text: p.Text, mediaType: ndjson, query: url.Values{
			"record": {string(s.record)}, "default_provider": {s.provider}, "skipped": {strconv.FormatInt(p.Skipped, 10)},
		}}
		if format == importer.FormatCSV {
			u.mediaType = "text/csv"
		}
		if len(p.Text) > 0 {
			if err := use(u); err != nil {
				return err
			}
		}
		if p.TooLong != nil {
			r.addTooLong(*p.TooLong)
		}
		return errors.Join(r.check(), c.Context().Err())
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// upload is a part of a file to be sent.
type upload struct {
	ctx       context.Context //nolint:containedctx // it is that of the command
	api       *cli.API
	mediaType string
	query     url.Values
	text      []byte
}

func (u upload) to(route string, into any) error {
	return u.api.Upload(u.ctx, route, u.query, u.mediaType, u.text, into)
}

func (s *source) open(c *cobra.Command, name string) (io.ReadCloser, error) {
	if s.reader != nil {
		return s.reader, nil
	}
	return openSource(c, name)
}

// openSource opens a file, standard input, or all files of an archive, and decompresses them if necessary.
func openSource(c *cobra.Command, name string) (io.ReadCloser, error) {
	if archive.IsAddress(name) {
		bucket, err := archive.Open(name)
		if err != nil {
			return nil, fmt.Errorf("the address %w", err)
		}
		return archive.Read(c.Context(), bucket)
	}
	if name == "-" {
		return archive.Decompress(c.InOrStdin())
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	plain, err := archive.Decompress(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return closers{plain, file}, nil
}

// closers closes a file after its decompressor.
type closers struct {
	io.ReadCloser

	file *os.File
}

func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.file.Close()) }
