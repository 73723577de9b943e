// Command sqs runs kumo, an emulator of SQS that keeps messages in memory, on a random port of 127.0.0.1. It prints the URL, and
// runs until it is ended.
package main

import (
	"fmt"

	"github.com/sivchari/kumo"
)

func main() {
	fmt.Println(kumo.NewServer().URL)
	select {}
}
