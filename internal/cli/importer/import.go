package importer

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/api"
)

// ImportCommand returns `holdfast import`.
func ImportCommand() *cobra.Command {
	o := importOptions{rate: operation.KindImport.Rates().Default}
	command := cli.WithAPI(&cobra.Command{
		Use:   "import FILE|--from SYSTEM",
		Short: "Import another system's data",
		Long: "Import another system's data: keys, events, dead letters, entities and subscriptions.\n" +
			"FILE has one record a line, as JSON or CSV; - is standard input, and the address of\n" +
			"an archive means all its files. Zstandard and gzip files are decompressed. The page\n" +
			"docs/moving.md lists the fields, and has a query that writes such a file for each old system.\n\n" +
			"The whole file is read first. If lines are invalid, all errors are listed and nothing\n" +
			"is imported. Then an operation applies the file page by page, alongside live traffic.\n" +
			"Existing data isn't changed: the same file can be imported again. Imported events\n" +
			"aren't delivered to subscriptions.\n\n" +
			"With --from, the API of another webhook gateway is read instead of a file, and nothing is\n" +
			"changed there. --dry-run prints the plan: what is imported, what isn't, and why. Secrets\n" +
			"are never printed. The same command can be repeated: what exists here stays as it is.\n" +
			"--undelivered and --failed deliver what that system hasn't; --since alone imports its\n" +
			"history, and delivers none of it.",
		Example: "  holdfast import old.ndjson --dry-run\n" +
			"  holdfast import old.ndjson --rate 1000/s --reason 'moving in'\n" +
			"  psql … | holdfast import - --yes --detach\n" +
			"  holdfast import keys.csv --record key --default-provider stripe\n" +
			"  holdfast import s3://company-webhooks/holdfast --rate 5000/s\n" +
			"  holdfast import --from svix --from-url https://api.eu.svix.com --dry-run\n" +
			"  holdfast import watch|pause|resume|cancel ID",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: o.check,
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		if o.from != "" {
			return o.move(c, a)
		}
		return o.run(c, a, args[0])
	})
	o.source.addFlags(command)
	o.system.addFlags(command)
	o.addInFlightFlag(command)
	command.Flags().BoolVar(&o.skip, "skip-invalid", false, "list invalid lines, and import the others")
	cli.AddStartFlags(command, &o.dryRun)
	cli.AddRateFlag(command, &o.rate, "rate", "lines to apply")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	command.AddCommand(imports().Commands()...)
	return command
}

type importOptions struct {
	source
	system
	rate         float64
	dryRun, skip bool
}

func (o *importOptions) run(c *cobra.Command, a *cli.API, file string) error {
	if err := operation.KindImport.CheckRate(o.rate); err != nil {
		return cli.UsageError(c, err)
	}
	if file == "-" && !o.dryRun && !cli.IsConfirmed(c) {
		return cli.UsageError(c,
			errors.New("can't ask for confirmation while the file is read from standard input: add --yes or --dry-run"))
	}
	if o.dryRun {
		return o.try(c, a, file)
	}
	s := &staging{}
	err := o.stage(c, a, file, s)
	if err == nil && s.hasData() && !cli.Confirm(c, s.question()) {
		err = errors.New("nothing was imported (--yes does not ask, --dry-run changes nothing)")
	}
	if err == nil {
		err = destination.ApplyImported(c, a, s.Subscriptions, false)
	}
	if err != nil {
		return errors.Join(err, s.drop(c, a))
	}
	return o.start(c, a, file, s)
}

// importLines imports the events of another system, whose plan was confirmed.
func (o *importOptions) importLines(c *cobra.Command, a *cli.API, name string) error {
	s := &staging{}
	if err := o.stage(c, a, name, s); err != nil {
		return errors.Join(err, s.drop(c, a))
	}
	return o.start(c, a, name, s)
}

// start applies what is kept.
func (o *importOptions) start(c *cobra.Command, a *cli.API, file string, s *staging) error {
	if s.staged == 0 {
		return cli.Print(c, s.outcome(), s.printEmpty)
	}
	i, err := imports().Start(c, a, api.ImportRequest{
		Reasoned: cli.Reasoned(c), ID: s.id, Name: filepath.Base(file), Rate: o.rate,
	})
	if i.ID == "" {
		return errors.Join(err, s.drop(c, a))
	}
	return cli.Report(c, i, func(w io.Writer) error { return writeImport(w, i) }, err)
}

// stage sends a file to be kept until the import is started.
func (o *importOptions) stage(c *cobra.Command, a *cli.API, file string, s *staging) error {
	err := o.send(c, a, file, "/imports/plan", &s.reading, func(p upload) error {
		path := "/imports/lines"
		if s.id != "" {
			path = cli.Path("imports", s.id, "lines")
		}
		var kept api.StagedLines
		err := p.to(path, &kept)
		if kept.ID != "" {
			s.id = kept.ID
		}
		s.staged += kept.Staged
		s.add(kept.ImportedLines)
		return err
	})
	if err == nil && s.Invalid > 0 && !o.skip {
		err = s.errInvalid()
	}
	return err
}

// try sends a file and prints what an import would do.
func (o *importOptions) try(c *cobra.Command, a *cli.API, file string) error {
	var r reading
	result := tried{DryRun: true, Counts: operation.ImportCounts{}}
	if err := o.send(c, a, file, "/imports/plan", &r, func(p upload) error {
		var part api.TriedLines
		err := p.to("/imports/plan", &part)
		result.Counts.AddAll(part.Counts)
		room := operation.MaxProblems - len(result.Problems)
		result.Problems = append(result.Problems, part.Problems[:min(len(part.Problems), room)]...)
		r.add(part.ImportedLines)
		return err
	}); err != nil {
		return err
	}
	result.Lines, result.Invalid, result.Expired = r.Lines, r.Invalid, r.Expired
	err := cli.Print(c, result, func(w io.Writer) error { return writeTried(w, result) })
	if err == nil {
		err = destination.ApplyImported(c, a, r.Subscriptions, true)
	}
	if err == nil && r.Invalid > 0 && !o.skip {
		err = r.errInvalid()
	}
	return err
}
