// Package operation defines the operations that operators start: replays, rebuilds, resends, imports, comparisons and sweeps,
// with their filters, plans, progress and states.
//
// It must not depend on how an operation is run (workflows, replay), stored (persistence) or shown (operator).
package operation
