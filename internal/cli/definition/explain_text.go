package definition

import (
	"fmt"
	"io"

	"holdfast/internal/cli"
	"holdfast/providers"
	"holdfast/providers/lint"
)

func writeExplanation(w io.Writer, p *providers.Provider, e lint.Explanation) error {
	if err := cli.WriteFields(w, e.Facts(p)...); err != nil {
		return err
	}
	if e.Refused == "" && !e.Challenge && len(e.Events) == 0 {
		fmt.Fprintln(w, "\nno events: an empty batch")
	}
	for i := range e.Events {
		fmt.Fprintf(w, "\nevent %d of %d\n", i+1, len(e.Events))
		if err := writeExplainedEvent(w, &e.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeExplainedEvent(w io.Writer, e *lint.ExplainedEvent) error {
	if err := cli.WriteFields(w, e.Facts()...); err != nil {
		return err
	}
	for _, change := range e.Changes {
		fmt.Fprintf(w, "%s %s %s  %s\n", change.Op, cli.Printable(change.Kind), cli.Printable(change.ExternalID),
			cli.Printable(cli.Shorten(string(change.State))))
	}
	return nil
}
