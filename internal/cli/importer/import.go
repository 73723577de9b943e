package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/importer"
	"holdfast/persistence/archive"
	"holdfast/providers"
)

// ImportCommand returns `holdfast import`.
func ImportCommand() *cobra.Command {
	o := importOptions{rate: operation.KindImport.Rates().Default}
	command := cli.WithAPI(&cobra.Command{
		Use:   "import FILE",
		Short: "Import another system's data",
		Long: "Import another system's data: keys, events, dead letters, entities and subscriptions.\n" +
			"FILE has one record a line, as JSON or CSV; - is standard input, and the address of\n" +
			"an archive means all its files. Zstandard and gzip files are decompressed. The page\n" +
			"\"Moving in\" lists the fields, and has a query that writes such a file for each old system.\n\n" +
			"The whole file is read first. If lines are invalid, all errors are listed and nothing\n" +
			"is imported. Then an operation applies the file page by page, alongside live traffic.\n" +
			"Existing data isn't changed: the same file can be imported again. Imported events\n" +
			"aren't delivered to subscriptions.",
		Example: "  holdfast import old.ndjson --dry-run\n" +
			"  holdfast import old.ndjson --rate 1000/s --reason 'moving in'\n" +
			"  psql … | holdfast import - --yes --detach\n" +
			"  holdfast import keys.csv --record key --default-provider stripe\n" +
			"  holdfast import s3://company-webhooks/holdfast --rate 5000/s\n" +
			"  holdfast import watch|pause|resume|cancel ID",
		Args:    cobra.ExactArgs(1),
		GroupID: cli.GroupOperate,
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		return cli.WithTools(func(c *cobra.Command, t *cli.Tools, _ []string) error { return o.run(c, a, t, args[0]) })(c, args)
	})
	o.addFlags(command)
	command.Flags().BoolVar(&o.skip, "skip-invalid", false, "list invalid lines, and import the others")
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddRateFlag(command, &o.rate, "rate", "lines to apply")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	command.AddCommand(imports().Commands()...)
	return command
}

// source is an input file.
type source struct {
	format   importer.Format
	record   operation.ImportRecord
	provider string
}

func (s *source) addFlags(c *cobra.Command) {
	cli.AddChoiceFlag(c, &s.format, "format", "the file's format, if its name doesn't show it", importer.Formats())
	cli.AddChoiceFlag(c, &s.record, "record", "the record of lines without one", importer.Records())
	c.Flags().StringVar(&s.provider, "default-provider", "", "the provider of lines without one")
}

func (s *source) each(c *cobra.Command, t *cli.Tools, name string, each func(importer.Line) error) error {
	catalogue, err := providers.Load(t.Cfg.Providers.Dir)
	if err != nil {
		return err
	}
	in, err := openSource(c, name)
	if err != nil {
		return err
	}
	defer in.Close()
	reader := importer.Reader{
		Lookup: catalogue.Lookup, Record: s.record, Provider: s.provider, Format: cmp.Or(s.format, importer.FormatOf(name)),
	}
	if err := reader.Each(in, func(l importer.Line) error {
		if err := c.Context().Err(); err != nil {
			return err
		}
		return each(l)
	}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
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

type importOptions struct {
	source
	rate         float64
	dryRun, skip bool
}

func (o *importOptions) run(c *cobra.Command, a *cli.API, t *cli.Tools, file string) error {
	if err := operation.KindImport.CheckRate(o.rate); err != nil {
		return cli.UsageError(c, err)
	}
	if file == "-" && !o.dryRun && !cli.IsConfirmed(c) {
		return cli.UsageError(c,
			errors.New("can't ask for confirmation while the file is read from standard input: add --yes or --dry-run"))
	}
	if o.dryRun {
		return o.try(c, a, t, file)
	}
	read, err := o.stage(c, t, file)
	if err != nil {
		return err
	}
	if read.hasData() && !cli.Confirm(c, read.question()) {
		return errors.Join(errors.New("nothing was imported (--yes does not ask, --dry-run changes nothing)"), read.drop(c.Context()))
	}
	if err := destination.ApplyImported(c, a, read.subscriptions, false); err != nil {
		return errors.Join(err, read.drop(c.Context()))
	}
	if read.staged == 0 {
		return cli.Print(c, read.found(), read.printEmpty)
	}
	i, err := t.Imports().Start(c.Context(), operation.Import{
		Base: operation.Base{ID: read.id, Rate: o.rate}, Name: filepath.Base(file),
	}, cli.ActorOf(c))
	if i.ID == "" {
		return errors.Join(err, read.drop(c.Context()))
	}
	if err == nil {
		i, err = imports().Follow(c, a, i)
	}
	return cli.Report(c, i, func(w io.Writer) error { return writeImport(w, i) }, err)
}
