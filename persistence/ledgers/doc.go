// Package ledgers compares what is stored with a ledger of what was sent, invariant by invariant, in temporary tables of one
// session. It reads everything, which is what it is for, and folds entities by the model of package fold instead of the writer's
// way, so that it does not repeat the writer's mistakes.
//
// It must never write to a table of ours, nor know who has sent what is in the ledger.
package ledgers
