package api

import (
	"bytes"
	"context"
	"errors"
	"math"
	"mime"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/operation"
	"holdfast/operator/httpapi"
	"holdfast/operator/importer"
	"holdfast/providers"
)

// ImportStore keeps and tries the lines of another system's data.
type ImportStore interface {
	// StageImport keeps items for an import that will be created later, after those that are kept under its ID; the first are new.
	StageImport(ctx context.Context, id string, isNew bool, items []operation.ImportItem) error
	// DropImport removes the items that an import has not applied, unless it is running or paused.
	DropImport(ctx context.Context, id string) error
	// TryImport returns what would happen to items if they were imported now.
	TryImport(ctx context.Context, items []operation.ImportItem) (operation.ImportCounts, []operation.ImportProblem, error)
}

// Importer imports another system's data, and compares it.
type Importer struct {
	httpapi.Operations[operation.Import]

	Store    ImportStore
	Compared CompareStore
	// Definitions finds the definition of a provider. The error says why the definitions can't be loaded.
	Definitions func() (lookup func(name string) (*providers.Provider, bool), err error)
}

// ImportedLines says what a part of a file has.
type ImportedLines struct {
	Lines int64 `json:"lines"`
	// Expired counts keys that no event can repeat any more. They are left out.
	Expired int64 `json:"expired,omitempty"`
	// Records counts the lines to import, by type of record.
	Records map[operation.ImportRecord]int64 `json:"records"`
	// Invalid counts the lines with mistakes. They are left out.
	Invalid  int64              `json:"invalid,omitempty"`
	Mistakes []importer.Problem `json:"mistakes,omitempty"`
	// Subscriptions aren't imported: create them with POST /subscriptions/apply.
	Subscriptions []importer.ImportedSubscription `json:"subscriptions,omitempty"`
}

// StagedLines says what has been kept of a part of a file.
type StagedLines struct {
	ImportedLines

	// ID is the ID of the import to start; absent as long as nothing is kept for it.
	ID string `json:"id,omitempty"`
	// Staged counts what has been kept: a line has several items if the body of its event is an envelope.
	Staged int64 `json:"staged"`
}

// TriedLines says what would become of a part of a file.
type TriedLines struct {
	ImportedLines

	Counts   operation.ImportCounts    `json:"counts"`
	Problems []operation.ImportProblem `json:"problems,omitempty"`
}

// ImportRequest is the body of a request to start an import.
type ImportRequest struct {
	httpapi.Reasoned

	// ID is that of the staged lines.
	ID string `json:"id"`
	// Name is the name of the file.
	Name string `json:"name,omitempty" jsonschema:"maxLength=1024"`
	// Rate is in lines per second.
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.01,maximum=10000,default=500"`
}

// MaxPart bounds a part of a file, in bytes.
const MaxPart = importer.MaxPart

const partDetails = "The body has whole lines of the file, unchanged, up to 37 MiB. Each part of a CSV file begins with its " +
	"heading. The Content-Type is application/x-ndjson or text/csv. "

// The parameters of a part of a file.
var (
	importID       = httpapi.TextParameter("id", "ID of the import.")
	partParameters = []httpapi.Parameter{
		httpapi.ChoiceParameter("record", "Type of the lines that have none.", importer.Records()),
		httpapi.TextParameter("default_provider", "Provider of the lines that have none."),
		{Name: "skipped", About: "Number of lines of the file before the part, for the line numbers in responses.",
			Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0}},
	}
	filePart = httpapi.Text{MediaType: "application/x-ndjson, text/csv", About: "Lines of the file."}
)

func (a *API) importRoutes() []httpapi.Route {
	return append(httpapi.OperationRoutes(operation.KindImport, a.Imports.Operations),
		httpapi.Post("tryImport", "/imports/plan", "Find out what an import of some lines would do, and change nothing", a.tryImport).
			Explain(partDetails+httpapi.SlowDetails).With(partParameters...).Takes(filePart).Returns(fiber.StatusOK, TriedLines{}),
		httpapi.Post("stageImport", "/imports/lines", "Keep the first lines of a file for an import", a.stageImport).
			Explain(partDetails+"Lines that belong to no started import are removed after a day. "+httpapi.SlowDetails).
			With(partParameters...).Takes(filePart).Returns(fiber.StatusOK, StagedLines{}),
		httpapi.Post("stageMoreOfImport", "/imports/:id/lines", "Keep the next lines of a file for an import", a.stageImport).
			Explain(partDetails+httpapi.SlowDetails).With(importID).With(partParameters...).Takes(filePart).
			Returns(fiber.StatusOK, StagedLines{}),
		httpapi.Delete("dropImport", "/imports/:id/lines", "Remove the lines that were kept for an import that wasn't started",
			a.dropImport).
			Explain("Lines of a running or paused import stay. "+httpapi.SlowDetails).
			With(importID).Returns(fiber.StatusOK, struct{}{}),
		httpapi.Post("startImport", "/imports", "Import the lines that were kept", httpapi.Starts(a.startImport)).
			Explain("If an import with this ID exists, it is the response, and stays as it is.").
			Takes(ImportRequest{}, "id").Returns(fiber.StatusAccepted, operation.Import{}),
	)
}

func (a *API) tryImport(c *fiber.Ctx) error {
	return a.withPart(c, func(ctx context.Context, p *part) (any, error) {
		tried := TriedLines{Counts: operation.ImportCounts{}}
		err := p.each(ctx, itemsOfPage, func(items []operation.ImportItem) error {
			counts, problems, err := a.Imports.Store.TryImport(ctx, items)
			tried.Counts.AddAll(counts)
			tried.Problems = append(tried.Problems, problems[:min(len(problems), operation.MaxProblems-len(tried.Problems))]...)
			return err
		})
		tried.ImportedLines = p.found
		return tried, err
	})
}

func (a *API) stageImport(c *fiber.Ctx) error {
	id := ""
	if c.Params("id") != "" {
		var err error
		if id, err = httpapi.PathText(c, "id"); err != nil {
			return err
		}
	}
	return a.withPart(c, func(ctx context.Context, p *part) (any, error) {
		staged := StagedLines{ID: id}
		err := p.each(ctx, itemsOfPage, func(items []operation.ImportItem) error {
			isNew := staged.ID == ""
			if isNew {
				staged.ID = operation.NewID()
			}
			staged.Staged += int64(len(items))
			return a.Imports.Store.StageImport(ctx, staged.ID, isNew, items)
		})
		if err != nil && id == "" && staged.ID != "" { // the client has no ID to continue with
			err = errors.Join(err, a.Imports.Store.DropImport(context.WithoutCancel(ctx), staged.ID))
		}
		staged.ImportedLines = p.found
		return staged, err
	})
}

func (a *API) dropImport(c *fiber.Ctx) error {
	id, err := httpapi.PathText(c, "id")
	if err != nil {
		return err
	}
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.RespondSlowly(c, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, a.Imports.Store.DropImport(ctx, id)
	})
}

func (a *API) startImport(c *fiber.Ctx) (started operation.Import, err error) {
	var body ImportRequest
	if err := httpapi.ReadChange(c, &body); err != nil {
		return started, err
	}
	switch {
	case body.ID == "":
		return started, httpapi.MissingField("id")
	case len(body.Name) > httpapi.MaxText || !httpapi.IsText(body.Name):
		return started, httpapi.BadField("name")
	}
	rate, err := httpapi.Rate(body.Rate, operation.KindImport)
	if err != nil {
		return started, err
	}
	return httpapi.StartOperation(c, a.Imports.Operations, operation.Import{
		Base: operation.Base{ID: body.ID, Rate: rate}, Name: body.Name,
	}, body.Reason)
}

// part is a part of a file that a request has.
type part struct {
	reader importer.Reader
	text   []byte
	found  ImportedLines

	// from is the first line to use. Once isEnough is set, rest is the next one; 0 if all have been used.
	from, rest int64
	isEnough   bool
}

// withPart responds with what work does with the part of a file in the request.
func (a *API) withPart(c *fiber.Ctx, work func(context.Context, *part) (any, error), more ...httpapi.Parameter) error {
	q := httpapi.QueryOf(c, append(more, partParameters...)...)
	p := &part{
		reader: importer.Reader{Record: httpapi.Choose(q, "record", importer.Records()), Provider: q.Text("default_provider")},
		found:  ImportedLines{Records: map[operation.ImportRecord]int64{}},
	}
	if text := q.Text("skipped"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if p.reader.Skipped = n; err != nil || n < 0 || n > math.MaxInt32 {
			q.Refuse("skipped")
		}
	}
	if q.Err != nil {
		return q.Err
	}
	switch kind, _, _ := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); kind {
	case "application/x-ndjson":
		p.reader.Format = importer.FormatJSON
	case "text/csv":
		p.reader.Format = importer.FormatCSV
	default:
		return &httpapi.RefusalError{Code: httpapi.CodeMediaType, Detail: "use application/x-ndjson or text/csv"}
	}
	p.text = bytes.Clone(c.BodyRaw())
	return httpapi.RespondSlowly(c, func(ctx context.Context) (done any, err error) {
		if p.reader.Lookup, err = a.Imports.Definitions(); err != nil {
			return nil, &httpapi.RefusalError{Code: httpapi.CodeRefused, Detail: err.Error()}
		}
		if done, err = work(ctx, p); err == nil {
			return done, nil
		}
		var unreadable *importer.FileError
		if errors.As(err, &unreadable) {
			return nil, &httpapi.RefusalError{Code: httpapi.CodeBadRequest, Detail: unreadable.Error()}
		}
		return nil, explained(err)
	})
}

// The bounds of the items that are stored or compared at once.
const (
	itemsOfPage = 200
	bytesOfPage = 4 << 20
)

// each calls use with the items of the part, at most so many at once, and counts what it has read.
func (p *part) each(ctx context.Context, most int, use func([]operation.ImportItem) error) error {
	var items []operation.ImportItem
	size := 0
	flush := func() error {
		if len(items) == 0 {
			return nil
		}
		err := use(items)
		items, size = nil, 0
		return err
	}
	err := p.reader.Each(bytes.NewReader(p.text), func(l importer.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case p.isEnough:
			p.rest = l.N
			return errEnough
		case l.N < p.from:
			return nil
		}
		p.found.count(l)
		for _, item := range l.Items {
			items, size = append(items, item), size+len(item.Body)
			if len(items) >= most || size >= bytesOfPage {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return flush()
}

// errEnough ends the reading of a part.
var errEnough = errors.New("enough")

func (f *ImportedLines) count(l importer.Line) {
	f.Lines++
	switch {
	case len(l.Problems) > 0:
		f.Invalid++
		f.Mistakes = append(f.Mistakes, l.Problems...)
		return
	case l.Subscription != nil:
		f.Subscriptions = append(f.Subscriptions, *l.Subscription)
	case l.IsExpired && len(l.Items) == 0:
		f.Expired++
		return
	}
	f.Records[l.Record]++
}
