// Package soak records what concurrent senders, operators, readers and endpoints see while random faults occur, and decides
// for each key whether Holdfast may behave like that. Real processes run on a real PostgreSQL and a real Temporal.
//
// A history has one operation for each request, delivery and read: when it began, when it ended, and its outcome. The model is
// what one key may do: it is accepted once, what was acknowledged stays, effects happen once, decisions stay, and each delivery
// has one webhook-id. [Porcupine] looks for an order of the operations in which each has an effect at one moment between its
// beginning and its end, and the model allows them all.
//
// `go test ./e2e/soak` checks the model with written histories, and plays one short round. `make soak` plays rounds for hours,
// and `make soak-bugs` shows how soon it finds bugs that are planted into Holdfast.
//
// [Porcupine]: https://github.com/anishathalye/porcupine
package soak
