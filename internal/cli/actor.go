package cli

import (
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"
)

// actorName returns the name for the audit log: that of the operating system's user.
func actorName() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return "cli:" + name
}

// ReasonFlag is the name of the flag that AddReasonFlag adds.
const ReasonFlag = "reason"

// AddFetchFlag adds --fetch.
func AddFetchFlag(c *cobra.Command, fetch *bool) {
	c.Flags().BoolVar(fetch, "fetch", false, "ask the provider's API again for the state behind an event")
}

// AddReasonFlag adds --reason, which the audit log stores.
func AddReasonFlag(c *cobra.Command) { c.Flags().String(ReasonFlag, "", "why, for the audit log") }
