// Package retention defines how long data is kept, and the records of archived and deleted data.
//
// It must not depend on where rows and files are stored, or delete any.
package retention
