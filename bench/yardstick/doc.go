// Package yardstick is what the product is compared with, each in a process of its own, on the servers of the product:
//
//   - ceiling: empty workflows with eager start, as many as Temporal takes;
//   - steps: the least that three steps cost in such a workflow, as local activities that read the event and write two rows;
//   - handler: the least that an HTTP handler can do that makes a row durable before it answers, with group commit.
//
// They are honest opponents: nothing is done here to make them slow.
package yardstick
