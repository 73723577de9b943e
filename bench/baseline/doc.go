// Package baseline has the programs that the product is compared with, each in a process of its own, on the product's servers:
//
//   - ceiling: empty workflows with eager start, as many as Temporal takes;
//   - steps: the least that three steps cost in such a workflow, as local activities that read the event and write two rows;
//   - handler: the least that an HTTP handler can do that makes a row durable before it answers, with group commit.
//
// They are fair competitors: nothing here makes them slow.
package baseline
