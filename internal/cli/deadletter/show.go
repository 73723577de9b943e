package deadletter

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// Write writes one dead letter.
func Write(ctx context.Context, w io.Writer, a *cli.API, id int64) error {
	var d api.DeadLetterDetail
	if err := a.Read(ctx, cli.Path("dead-letters", strconv.FormatInt(id, 10)), nil, &d); err != nil {
		return err
	}
	return write(w, d)
}

func write(w io.Writer, d api.DeadLetterDetail) error {
	err := cli.WriteFields(w,
		"dead letter", strconv.FormatInt(d.ID, 10)+" ("+string(d.State)+")",
		"event", d.EventID,
		"workflow", d.Run.WorkflowID,
		"run", d.Run.RunID,
		"provider", d.Provider,
		"source", d.Source,
		"type", d.Type,
		"received", d.ReceivedAt.Format(time.RFC3339Nano),
		"failed at step", fmt.Sprintf("%s (%s, %s)", d.Failure.Step, d.Failure.Class, d.Failure.Code),
		"rule", d.Rule,
		"reason", d.Failure.Message,
		"attempts", strconv.Itoa(d.Failure.Attempts),
		"failures", strconv.Itoa(d.Failures),
		"first failed", d.FirstFailed.Format(time.RFC3339Nano),
		"last failed", d.LastFailed.Format(time.RFC3339Nano),
		"automatic attempts", automaticAttempts(d.DeadLetterView),
		"resolved by run", d.ResolvedRun,
		"resolved as duplicate of", d.DuplicateOf,
		"discarded by", d.DiscardedBy,
		"discarded because", d.DiscardReason,
		"replaced by event", d.ReplacedBy,
		"replaces event", d.Replaces,
	)
	if err != nil {
		return err
	}
	if err := cli.WriteContent(w, d.EventID, d.Body); err != nil {
		return err
	}
	_, err = io.WriteString(w, advice(d.DeadLetterView))
	return err
}
