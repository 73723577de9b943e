// Package importer has the commands that import another system's data and compare it.
//
// It must not parse or apply lines itself.
package importer
