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
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Bring what another system has",
		Long: "Bring what another system has: keys, events, dead letters, entities and\n" +
			"subscriptions. FILE holds one record a line, as JSON or CSV; - is standard\n" +
			"input, and the address of an archive all of its files. What is compressed with\n" +
			"Zstandard or gzip is decompressed. The page \"Moving in\" has the fields, and a query for each old system\n" +
			"that writes such a file.\n\n" +
			"The whole file is read first. Where a line has a mistake, every mistake is\n" +
			"told and nothing is imported. Then an operation applies it page by page, beside\n" +
			"live traffic. What is there already stays as it is: the same file can be\n" +
			"imported again. Imported events go to no subscription.",
		Example: "  holdfast import old.ndjson --dry-run\n" +
			"  holdfast import old.ndjson --rate 1000/s --reason 'moving in'\n" +
			"  psql … | holdfast import - --yes --detach\n" +
			"  holdfast import keys.csv --record key --provider-of-lines stripe\n" +
			"  holdfast import s3://company-webhooks/holdfast --rate 5000/s\n" +
			"  holdfast import watch|pause|resume|cancel ID",
		Args:    cobra.ExactArgs(1),
		GroupID: cli.GroupOperate,
		RunE:    cli.WithTools(func(c *cobra.Command, t *cli.Tools, args []string) error { return o.run(c, t, args[0]) }),
	}
	o.addFlags(command)
	command.Flags().BoolVar(&o.skip, "skip-mistakes", false, "tell the lines that have mistakes, and import the others")
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddRateFlag(command, &o.rate, "rate", "how many lines to apply, at most: 500/s, 6000/m")
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
	cli.AddChoiceFlag(c, &s.format, "format", "how the file is written, if not as its name ends", importer.Formats())
	cli.AddChoiceFlag(c, &s.record, "record", "what a line is that does not say so", importer.Records())
	c.Flags().StringVar(&s.provider, "provider-of-lines", "", "the provider of a line that names none")
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

func (o *importOptions) run(c *cobra.Command, t *cli.Tools, file string) error {
	if err := operation.KindImport.CheckRate(o.rate); err != nil {
		return cli.Misuse(c, err)
	}
	if file == "-" && !o.dryRun && !cli.SaysYes(c) {
		return cli.Misuse(c, errors.New("nobody can be asked while the file comes by standard input: want --yes, or --dry-run"))
	}
	if o.dryRun {
		return o.try(c, t, file)
	}
	read, err := o.stage(c, t, file)
	if err != nil {
		return err
	}
	if read.hasSomething() && !cli.Confirm(c, read.question()) {
		return errors.Join(errors.New("nothing was imported (--yes does not ask, --dry-run changes nothing)"), read.drop(c.Context()))
	}
	if err := destination.ApplyMoved(c, t, read.subscriptions, false); err != nil {
		return errors.Join(err, read.drop(c.Context()))
	}
	if read.staged == 0 {
		return cli.Print(c, read.found(), read.writeNothing)
	}
	i, err := imports().Start(c, t, operation.Import{
		Base: operation.Base{ID: read.id, Rate: o.rate}, Name: filepath.Base(file),
	})
	if i.ID == "" {
		return errors.Join(err, read.drop(c.Context()))
	}
	return cli.Report(c, i, func(w io.Writer) error { return writeImport(w, i) }, err)
}
