// Package eventtypes has the console's pages of declared event types: a list, and a page of each type. They only read.
//
// It must not depend on the other pages.
package eventtypes
