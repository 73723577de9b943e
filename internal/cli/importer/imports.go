package importer

import (
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/event/operation"
	"holdfast/internal/cli"
)

func imports() cli.Runs[operation.Import] {
	return cli.Runs[operation.Import]{
		Kind:    operation.KindImport,
		Heading: []string{"FILE", "APPLIED", "TOTAL", "NEW", "EXISTING", "UNREADABLE", "FAILED"},
		Cells: func(i operation.Import) []string {
			n := i.Counts.Sum()
			return []string{
				i.Name, cli.Number(i.Read), cli.Number(i.Total), cli.Number(n.New), cli.Number(n.There), cli.Number(n.Unreadable),
				cli.Number(n.Failed),
			}
		},
		Write: writeImport,
		Line: func(i operation.Import) string {
			n := i.Counts.Sum()
			return fmt.Sprintf("%d of %d: %d new, %d existing, %d unreadable, %d failed (%s)",
				i.Read, i.Total, n.New, n.There, n.Unreadable, n.Failed, i.State)
		},
		End: func(i operation.Import) (bool, error) {
			if n := i.Counts.Sum(); i.State.Ended() && n.Failed > 0 {
				return true, fmt.Errorf("%d of %d could not be imported: holdfast import show %s", n.Failed, i.Total, i.ID)
			}
			return i.State.Ended(), nil
		},
	}
}

func writeImport(w io.Writer, i operation.Import) error {
	err := cli.WriteFields(w,
		"import", i.ID,
		"state", string(i.State),
		"file", i.Name,
		"rate", cli.RateText(i.Rate),
		"applied", fmt.Sprintf("%d of %d", i.Read, i.Total),
		"started", i.StartedAt.Format(time.RFC3339)+" by "+i.StartedBy,
		"ended", cli.OptionalTimeText(i.EndedAt),
	)
	return errors.Join(err, writeCounts(w, i.Counts), writeProblems(w, i.Problems))
}

func writeCounts(w io.Writer, counts operation.ImportCounts) error {
	if len(counts) == 0 {
		return nil
	}
	table := cli.NewTable(w, "RECORD", "NEW", "EXISTING", "UNREADABLE", "FAILED")
	for _, record := range operation.ImportRecords() {
		if n, ok := counts[record]; ok {
			table.Row(string(record), cli.Number(n.New), cli.Number(n.There), cli.Number(n.Unreadable), cli.Number(n.Failed))
		}
	}
	return table.Flush()
}

func writeProblems(w io.Writer, problems []operation.ImportProblem) error {
	if len(problems) == 0 {
		return nil
	}
	table := cli.NewTable(w, "LINE", "RECORD", "CLASS", "CODE", "MESSAGE")
	for _, p := range problems {
		table.Row(cli.Number(p.Line), string(p.Record), string(p.Class), p.Code, cli.Shorten(p.Message))
	}
	return table.Flush()
}
