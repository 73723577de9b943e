package deadletter

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
)

func editCommand() *cobra.Command {
	var wait bool
	var file string
	command := &cobra.Command{
		Use:   "edit ID --file FILE",
		Short: "Replay with an edited body, and keep the original",
		Long: "Replay with an edited body: this starts a new event, whose workflow ID ends with :r1.\n" +
			"The original isn't changed.",
		Example: "  holdfast dlq show 7 --json | jq -r .body.raw | base64 -d > body.json\n" +
			"  holdfast dlq edit 7 --file body.json --reason 'a typo' --wait",
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			body, err := readEdited(c, file)
			if err != nil {
				return err
			}
			eventID, err := uuid.NewV7()
			if err != nil {
				return err
			}
			edit := operation.Edit{DeadLetter: id, EventID: eventID.String(), Body: body}
			started, err := t.Replays().EditAndReplay(c.Context(), edit, cli.ActorOf(c))
			if err != nil {
				return err
			}
			if started.Run.RunID == "" {
				return fmt.Errorf("the edited event is dead letter %d, and its run could not be started: "+
					"`holdfast dlq replay %d` tries again", started.DeadLetter, started.DeadLetter)
			}
			fmt.Fprintf(cli.StatusWriter(c), "started %s (run %s) for event %s\n",
				started.Run.WorkflowID, started.Run.RunID, started.EventID)
			return follow(c, t, started, wait)
		}),
	}
	cli.AddFileFlag(command, &file, "the new body, byte for byte", "body")
	addWaitFlag(command, &wait)
	_ = command.MarkFlagRequired("file")
	cli.AddReasonFlag(command)
	cli.AddJSONFlag(command)
	return command
}

// maxEdited is the largest body that the ingress can be configured to accept.
const maxEdited = 1 << 20

func readEdited(c *cobra.Command, file string) ([]byte, error) {
	body, err := cli.ReadBody(c.InOrStdin(), file)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > maxEdited {
		return nil, fmt.Errorf("the body is larger than %d bytes", maxEdited)
	}
	return body, nil
}
