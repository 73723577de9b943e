package deadletter

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
)

func editCommand() *cobra.Command {
	var wait bool
	var file string
	command := &cobra.Command{
		Use:   "edit ID --body FILE",
		Short: "Run an edited event instead: a new event with this body, under the workflow ID with :r1 behind it",
		Args:  cobra.ExactArgs(1),
		RunE: withNumber(func(c *cobra.Command, t *cli.Tools, id int64) error {
			body, err := readEdited(c, file)
			if err != nil {
				return err
			}
			eventID, err := uuid.NewV7()
			if err != nil {
				return err
			}
			edit := event.Edit{DeadLetter: id, EventID: eventID.String(), Body: body}
			started, err := t.Redrives().EditAndReplay(c.Context(), edit, cli.ActorOf(c))
			if err != nil {
				return err
			}
			if started.Run.RunID == "" {
				return fmt.Errorf("the edited event is dead letter %d, and its run could not be started: "+
					"`holdfast dlq replay %d` tries again", started.DeadLetter, started.DeadLetter)
			}
			fmt.Fprintf(cli.Aside(c), "started %s (run %s) for event %s\n",
				started.Run.WorkflowID, started.Run.RunID, started.EventID)
			return follow(c, t, started, wait)
		}),
	}
	command.Flags().StringVar(&file, "body", "", "file with the new body; - reads standard input")
	addWaitFlag(command, &wait)
	_ = command.MarkFlagRequired("body")
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
