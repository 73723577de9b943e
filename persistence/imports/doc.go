// Package imports stages the items of an import until they are applied, page by page. A file is staged completely before any of
// it is applied; a page reads its rows, passes them to the writer of events, and removes them, in one transaction.
//
// It must not depend on a file's format, on the content of definitions, or on the pace of the pages.
package imports
