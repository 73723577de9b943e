// Package imports keeps what is brought from another system until it is applied, page by page. A file is kept as a whole before
// anything of it is applied; a page takes its rows, gives them to the writer of events, and removes them, in one transaction.
//
// It must never know the form of a file, what a definition says, or when the next page comes.
package imports
