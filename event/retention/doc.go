// Package retention defines how long data is kept, and what is stored about data that was archived or deleted.
//
// It must not depend on where rows and files are stored, or delete any.
package retention
