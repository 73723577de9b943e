package main

import (
	"os"
	"os/user"
	"strconv"

	"holdfast/event"
)

// commandLineActor is who a command is audited as: the user of the operating system.
func commandLineActor(reason string) event.Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return event.Actor{Name: "cli:" + name, Reason: reason}
}
