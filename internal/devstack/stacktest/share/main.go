// Command share runs a command whose tests share one PostgreSQL and one Temporal:
//
//	go run ./internal/devstack/stacktest/share go test ./persistence ./workflows
package main

import (
	"os"

	"holdfast/internal/devstack/stacktest"
)

func main() { os.Exit(stacktest.Share(os.Args[1:])) }
