// Package check compares what is stored with a ledger of what was sent, invariant by invariant, in temporary tables of one
// session. It deliberately reads everything, and folds entities with the model of package fold instead of the writer's code, so
// that it doesn't repeat the writer's mistakes.
//
// It must never write to Holdfast's tables, nor depend on the ledger's origin.
package check
