package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

// watchRedrive shows a bar on a terminal, and a line where something has changed elsewhere, until the redrive has ended and
// so has each run that it started. Whoever stops watching does not stop the redrive.
func watchRedrive(c *cobra.Command, t *cli.Tools, id string) (r event.Redrive, err error) {
	out := cli.Aside(c)
	live := cli.IsTerminal(out)
	ticker := time.NewTicker(cli.ProgressInterval)
	defer ticker.Stop()
	for last := ""; ; {
		now, err := t.Redrives().Redrive(c.Context(), id)
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(out, "\nthe redrive goes on: %s redrive watch|pause|cancel %s\n", os.Args[0], id)
			return r, nil
		}
		if err != nil {
			return r, err
		}
		r = now
		if line := progressLine(r); line != last {
			last = line
			cli.WriteProgress(out, live, line)
		}
		if r.State.Ended() && r.InFlight == 0 {
			return r, endOfRedrive(out, live, r)
		}
		select {
		case <-ticker.C:
		case <-c.Context().Done():
		}
	}
}

func endOfRedrive(out io.Writer, live bool, r event.Redrive) error {
	if live {
		fmt.Fprintln(out)
	}
	if r.Failed > 0 {
		return fmt.Errorf("%d of %d have failed again: %s dlq list", r.Failed, r.Total, os.Args[0])
	}
	return nil
}

func progressLine(r event.Redrive) string {
	share := 1.0
	if r.Total > 0 {
		share = float64(r.Ended()) / float64(r.Total)
	}
	return fmt.Sprintf("%s  %d of %d: %d processed, %d failed, %d skipped, %d in flight (%s)",
		cli.Bar(share), r.Ended(), r.Total, r.Done, r.Failed, r.Skipped, r.InFlight, r.State)
}
