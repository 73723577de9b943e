package cli

import (
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
)

// ActorOf is who a command is audited as: the user of the operating system, with the reason that the command was given.
func ActorOf(c *cobra.Command) oversight.Actor {
	reason, _ := c.Flags().GetString(ReasonFlag)
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return oversight.Actor{Name: "cli:" + name, Reason: reason}
}

// ReasonFlag is the name of the flag that AddReasonFlag adds.
const ReasonFlag = "reason"

// AddReasonFlag asks for the reason of a change, which the audit log keeps.
func AddReasonFlag(c *cobra.Command) { c.Flags().String(ReasonFlag, "", "why, for the audit log") }
